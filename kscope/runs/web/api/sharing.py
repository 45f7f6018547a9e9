"""Who may see a run or a scenario: the body of a request to change it."""

from rest_framework import serializers
from rest_framework.request import Request

from kscope.accounts.access import Visibility
from kscope.runs.web.contract.fields import Body


class Sharing(Body):
    """Who may see a run or a scenario, besides its owner."""

    visibility = serializers.ChoiceField(Visibility.choices)


def wanted_visibility(request: Request) -> str:
    """The visibility in the body of a request."""
    wanted = Sharing(data=request.data)
    wanted.is_valid(raise_exception=True)
    return wanted.validated_data["visibility"]
