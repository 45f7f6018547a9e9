"""The REST API of what goes on inside the components that look after volumes."""

from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from engine.diagnosis.inside.answer import VolumesInside
from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.answer_schema import answer_schema
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.queries import entity_name, query, whole, words
from volumes.inside.answers import inside_volumes_by_id

_KINDS = ("claim", "pod", "node")


class InsideVolumesView(EngineView):
    """Each sync and each tick that did something about a claim, a pod or a node, played again."""

    @extend_schema(
        operation_id="runs_inside_volumes",
        parameters=[
            query(
                "VolumesQuery",
                {
                    "claim": words("NAMESPACE/NAME"),
                    "pod": words("NAMESPACE/NAME: its claims and its node"),
                    "node": words("everything that its kubelet did"),
                    "seq": whole("up to this event; now when absent"),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses=answer_schema(
            VolumesInside,
            "Inside",
            run=serializers.IntegerField(),
            seq=serializers.IntegerField(),
            from_seq=serializers.IntegerField(
                help_text="what was done before this event is left out; 0: nothing is"
            ),
        ),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Written down by the code that decides, while it decides again: docs/inside.md."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        asked = {kind: entity_name(self.asked, kind) for kind in _KINDS}
        if sum(bool(name) for name in asked.values()) != 1:
            raise ApplicationError(
                gettext(
                    "Say what to look at: one of ?claim=NAMESPACE/NAME, ?pod=NAMESPACE/NAME and "
                    "?node=NAME."
                )
            )
        arguments = {**asked, "seq": seq}
        return EngineAnswer(
            Question.about(run, inside_volumes_by_id, arguments, lasts=seq is not None)
        )
