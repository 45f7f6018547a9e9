"""The REST API of what goes on inside a scheduler."""

from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from engine.diagnosis.inside.what_if import WhatIf
from engine.scheduler.cycle.inside.answer import Cycle
from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.answer_schema import answer_schema
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.queries import entity_name, query, whole, words
from scheduling.inside.answers import Caches, caches_by_id, cycle_by_id, what_if_by_id
from scheduling.inside.path_trials import PathTrials, tried_by_id


class InsideScheduler(EngineView):
    """One scheduling cycle as its phases, played again."""

    @extend_schema(
        operation_id="runs_inside_scheduler",
        parameters=[
            query(
                "CycleQuery",
                {
                    "cycle": whole("the number of the scheduling cycle"),
                    "pod": words("NAMESPACE/NAME: its newest cycle"),
                    "seq": whole("only cycles that began up to this event"),
                },
            )
        ],
        responses=answer_schema(
            Cycle,
            "Inside",
            run=serializers.IntegerField(),
            seq=serializers.IntegerField(help_text="of the event AttemptStarted"),
            cycle=serializers.IntegerField(),
            fork_seq=serializers.IntegerField(
                allow_null=True, help_text="a fork after it comes before the cycle, with its pod"
            ),
        ),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Written down by the code that decides, while it decides again: docs/inside.md."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        cycle, pod = self.asked["cycle"], entity_name(self.asked, "pod")
        if cycle is None and not pod:
            raise ApplicationError(
                gettext("Say which cycle: ?cycle=NUMBER or ?pod=NAMESPACE/NAME.")
            )
        # A cycle that has not ended at the head of the run goes on with it.
        arguments = {"cycle": cycle, "pod": pod, "seq": seq}
        return EngineAnswer(Question.about(run, cycle_by_id, arguments))


class InsideWhatIf(EngineView):
    """One scheduling cycle, had its pod asked for another amount of a resource."""

    @extend_schema(
        operation_id="runs_inside_what_if",
        parameters=[
            query(
                "WhatIfQuery",
                {
                    "cycle": whole("of the scheduling cycle", required=True),
                    "pod": words("NAMESPACE/NAME, if several have the number"),
                    "resource": words("default: cpu"),
                },
            )
        ],
        responses=answer_schema(
            WhatIf,
            "Inside",
            run=serializers.IntegerField(),
            cycle=serializers.IntegerField(),
            pod=serializers.CharField(),
        ),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Decided by the scheduler itself, at the instant of the cycle: docs/inside.md."""
        run, asked = found_run(request, run_id), self.asked
        arguments = {
            "cycle": asked["cycle"],
            "pod": entity_name(asked, "pod"),
            "resource": asked["resource"] or "cpu",
        }
        return EngineAnswer(Question.about(run, what_if_by_id, arguments, lasts=True))


class InsideCaches(EngineView):
    """What the schedulers hold in memory at an instant."""

    @extend_schema(
        operation_id="runs_inside_caches",
        parameters=[
            query("CachesQuery", {"seq": whole("after this event; else the newest")}),
            IF_NONE_MATCH,
        ],
        responses=answer_schema(Caches, "Inside"),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Queue, assumed pods, volumes and claims, replicas and their Lease: docs/inside.md."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        arguments = {"seq": seq}
        return EngineAnswer(Question.about(run, caches_by_id, arguments, lasts=seq is not None))


class PodPathTrials(EngineView):
    """The changes that would have shortened the path of a pod, each tried in a fork."""

    @extend_schema(
        operation_id="runs_pods_path_trials",
        parameters=[
            query("PathTrialsQuery", {"seq": whole("as seen after this event")}),
            IF_NONE_MATCH,
        ],
        responses=answer_schema(PathTrials, "Path"),
    )
    def get(self, request: Request, run_id: int, namespace: str, name: str) -> EngineAnswer:
        """Those that a command can make, once the pod is bound, in a cluster that is not large."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        arguments = {"pod": f"{namespace}/{name}", "seq": seq}
        return EngineAnswer(Question.about(run, tried_by_id, arguments, lasts=seq is not None))
