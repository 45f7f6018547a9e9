"""What a person may do to a cluster: the texts that they write, and the faults that there are."""

from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api_server.store.fault_forms import fault_forms
from kscope.accounts.access import refuse, visitor_of
from kscope.runs.access import found_run
from kscope.runs.editing import texts
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.fields import Body
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import query
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.events import Asked, FaultForm

MOST_FAULTS = 500


class WrittenText(Body):
    """A manifest as somebody wrote it."""

    text = serializers.CharField(
        max_length=texts.LONGEST, trim_whitespace=False, allow_blank=True, help_text="YAML or JSON"
    )
    object = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="entity id of the object that is edited; without one the text makes objects",
    )
    base = serializers.CharField(
        max_length=texts.LONGEST,
        trim_whitespace=False,
        required=False,
        allow_blank=True,
        default="",
        help_text="of an object that is edited, the manifest before",
    )


class RunEdits(RestView):
    """Texts, read as the commands that they ask for."""

    @extend_schema(
        request=WrittenText,
        responses={200: answer_class(Asked)},
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Read a text; nothing is written: the commands go to the run, or to a fork of it."""
        run = found_run(request, run_id)
        visitor = visitor_of(request)
        if not visitor.may_create:
            words = gettext("Your account may not change run {number} or fork it.")
            refuse(visitor, words.format(number=run_id))
        wanted = WrittenText(data=request.data)
        wanted.is_valid(raise_exception=True)
        given = wanted.validated_data
        if given["object"]:
            asked = texts.changed(
                given["text"], base=given["base"], entity=given["object"], profile=run.profile
            )
        else:
            asked = texts.created(given["text"], profile=run.profile)
        return Response(asked.to_dict())


class FaultList(RestView):
    """The faults that a run can be given."""

    @extend_schema(
        operation_id="faults_list",
        parameters=[query("FaultQuery", paged(MOST_FAULTS, MOST_FAULTS))],
        responses=page_schema(answer_class(FaultForm), "FaultPage"),
    )
    def get(self, request: Request) -> Response:
        """Each kind of fault with what it does and its fields, as the engine knows them."""
        page = page_of(self.asked, MOST_FAULTS)
        forms = [*enumerate(fault_forms(), 1)][int(page.after or 0) :][: page.wanted]
        found, more = page.cut(forms, lambda form: form[0])
        return Response({"items": [form for _, form in found], "continue": more})
