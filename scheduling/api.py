"""The REST API of scheduling attempts."""

from collections.abc import Callable
from typing import Any

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.diagnosis.path.shorter import NAMES
from engine.diagnosis.path.steps import FAMILIES
from engine.diagnosis.why import KIND_OF
from engine.input.header.external import EXTERNAL_CONTROLLERS
from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.web.answers import JSON_LINES, EngineAnswer, EngineParts, EngineView, kept_answer
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import one_of, query, switch, whole, words
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.open import CommandField
from scheduling.drain import drain_preview
from scheduling.findings.agreement import (
    VERDICTS,
    WRITE_VERDICTS,
    agreement,
    writes_agreement,
)
from scheduling.models import SchedulingAttempt
from scheduling.paths import pod_path
from scheduling.selectors import (
    attempt_evidence_by_id,
    checks_by_id,
    diagnosis_by_id,
    diagnosis_kept,
    diagnosis_parts_by_id,
    evidence_kept,
)
from scheduling.shapes.attempts import (
    Checks,
    Evidence,
    ListedAttempt,
    ShadowDecisionAnswer,
    ShadowWriteAnswer,
)
from scheduling.shapes.triage import FirstLook as FirstLookAnswer
from scheduling.shapes.triage import Triage
from scheduling.shapes.why import Diagnosis
from scheduling.triages import (
    first_look_by_id,
    first_look_parts_by_id,
    triage_by_id,
    triage_parts_by_id,
)

MOST_ATTEMPTS, USUAL_ATTEMPTS = 1_000, 200
MOST_DECISIONS, USUAL_DECISIONS = 1_000, 500
# A cluster of 100 MiB takes 20 s of a processor until its causes are known, and 35 s more for its
# changes; engine processes get a tenth of a processor where others are busy.
CAUSES_SECONDS = 240.0
WHOLE_SECONDS = 300.0


class AttemptList(RestView):
    """The attempts of a pod, or of all."""

    @extend_schema(
        operation_id="runs_attempts_list",
        parameters=[
            query(
                "AttemptQuery",
                {
                    "pod": words("NAMESPACE/NAME"),
                    "seq": whole("only attempts recorded up to this event"),
                    **paged(MOST_ATTEMPTS, USUAL_ATTEMPTS),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses=page_schema(answer_class(ListedAttempt), "AttemptPage"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Attempts without their evidence, newest first."""
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_ATTEMPTS)
        seq, pod = self.asked["seq"], self.asked["pod"]
        self.lasts(run, seq)
        attempts = SchedulingAttempt.objects.filter(run=run).defer("evidence")
        if pod:
            attempts = attempts.filter(pod=pod.removeprefix("pod/"))
        if seq is not None:
            attempts = attempts.filter(seq__lte=seq)
        if page.after is not None:
            attempts = attempts.filter(seq__lt=page.after)
        # No event records two attempts.
        found, more = page.cut(attempts.order_by("-seq")[: page.wanted], lambda each: each.seq)
        return Response({"items": [_listed(each) for each in found], "continue": more})


def _listed(attempt: SchedulingAttempt) -> ListedAttempt:
    return {
        "id": attempt.pk,
        "pod": attempt.pod,
        "number": attempt.number,
        "seq": attempt.seq,
        "at": attempt.at,
        "cycle": attempt.cycle,
        "result": attempt.result,
        "node": attempt.node,
    }


_COUNTS = type(
    "VerdictCounts",
    (serializers.Serializer,),
    {name: serializers.IntegerField() for name in VERDICTS},
)


class ShadowDecisionList(RestView):
    """How the decisions of an external scheduler compare with those of the simulation."""

    @extend_schema(
        operation_id="runs_shadow_decisions_list",
        parameters=[
            query(
                "DecisionQuery",
                {
                    "verdict": one_of(VERDICTS),
                    "pod": words("NAMESPACE/NAME"),
                    "seq": whole("only decisions recorded up to this event"),
                    **paged(MOST_DECISIONS, USUAL_DECISIONS),
                },
            ),
        ],
        responses=page_schema(
            answer_class(ShadowDecisionAnswer),
            "ShadowDecisionPage",
            counts=_COUNTS(help_text="how many there are of each verdict"),
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """The decisions, newest first, and how many there are of each verdict."""
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_DECISIONS)
        found = agreement(
            run,
            verdict=self.asked["verdict"] or "",
            pod=self.asked["pod"] or "",
            seq=self.asked["seq"],
            before=page.after,
            most=page.wanted,
        )
        decisions, more = page.cut(found.decisions, lambda each: each.seq)
        items = [one.to_dict() for one in decisions]
        return Response({"counts": found.counts, "items": items, "continue": more})


_WRITE_COUNTS = type(
    "WriteVerdictCounts",
    (serializers.Serializer,),
    {name: serializers.IntegerField() for name in WRITE_VERDICTS},
)


class ShadowWriteList(RestView):
    """How the writes of a client in the place of controllers compare with the simulation's."""

    @extend_schema(
        operation_id="runs_shadow_writes_list",
        parameters=[
            query(
                "WriteQuery",
                {
                    "verdict": one_of(WRITE_VERDICTS),
                    "controller": one_of(EXTERNAL_CONTROLLERS),
                    "seq": whole("only writes recorded up to this event"),
                    **paged(MOST_DECISIONS, USUAL_DECISIONS),
                },
            ),
        ],
        responses=page_schema(
            answer_class(ShadowWriteAnswer),
            "ShadowWritePage",
            counts=_WRITE_COUNTS(help_text="how many there are of each verdict"),
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """The writes, newest first, and how many there are of each verdict."""
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_DECISIONS)
        found = writes_agreement(
            run,
            verdict=self.asked["verdict"] or "",
            controller=self.asked["controller"] or "",
            seq=self.asked["seq"],
            before=page.after,
            most=page.wanted,
        )
        writes, more = page.cut(found.writes, lambda each: each.seq)
        items = [one.to_dict() for one in writes]
        return Response({"counts": found.counts, "items": items, "continue": more})


class AttemptDetail(EngineView):
    """One attempt with its evidence."""

    @extend_schema(responses=answer_class(Evidence))
    def get(self, request: Request, run_id: int, attempt_id: int) -> Response | EngineAnswer:
        """Every node's verdict and score; made again from a checkpoint on large clusters."""
        run = found_run(request, run_id)
        attempt = get_object_or_404(SchedulingAttempt, run=run, pk=attempt_id)
        kept = evidence_kept(attempt)
        if kept is not None:
            return Response(kept)
        arguments = {"attempt_id": attempt.pk}
        return EngineAnswer(Question.about(run, attempt_evidence_by_id, arguments, lasts=True))


_STEP = {
    "from": serializers.IntegerField(help_text="virtual nanoseconds"),
    "to": serializers.IntegerField(help_text="virtual nanoseconds; the next step begins there"),
    "name": serializers.ChoiceField(sorted(FAMILIES), help_text="what was waited for"),
    "family": serializers.CharField(help_text="the colour of the name on pages"),
    "object": serializers.CharField(help_text="the entity id of what was waited for"),
    "objects": serializers.ListField(
        child=serializers.CharField(), help_text="all of them, such as the pods evicted together"
    ),
    "seq": serializers.IntegerField(
        allow_null=True, help_text="the event that ended it; null while it lasts"
    ),
    "attempt": serializers.IntegerField(allow_null=True, help_text="which attempt, from 1"),
    "message": serializers.CharField(help_text="what the event that ended it says"),
}
_SUM = {
    "name": serializers.CharField(),
    "family": serializers.CharField(),
    "sum": serializers.IntegerField(help_text="virtual nanoseconds"),
}
_CHANGE = {
    "name": serializers.ChoiceField(choices=NAMES),
    "objects": serializers.ListField(
        child=serializers.CharField(), help_text="what would have to be otherwise"
    ),
    "saves": serializers.IntegerField(help_text="ns, at most"),
    "known": serializers.CharField(help_text="record: read from the events"),
    "amount": serializers.IntegerField(
        allow_null=True, help_text="the grace in seconds, or the priority that is enough"
    ),
    "seq": serializers.IntegerField(allow_null=True, help_text="a fork after it can try it"),
    "commands": serializers.ListField(child=CommandField()),
}
_PATH = {
    "seq": serializers.IntegerField(help_text="the newest event that was looked at"),
    "pod": serializers.CharField(),
    "from": serializers.IntegerField(help_text="its creation, in virtual nanoseconds"),
    "to": serializers.IntegerField(help_text="when it ran or ended, or else now"),
    "open": serializers.BooleanField(help_text="whether it neither runs nor has ended"),
    "steps": inline_serializer("PathStep", _STEP, many=True),
    "sums": inline_serializer("PathSum", _SUM, many=True),
    "shorter": inline_serializer("PathChange", _CHANGE, many=True),
}


class PodPath(RestView):
    """What a pod waited for from its creation until it ran."""

    @extend_schema(
        operation_id="runs_pods_path",
        parameters=[query("PathQuery", {"seq": whole("as seen after this event")}), IF_NONE_MATCH],
        responses=inline_serializer("PodPath", _PATH),
    )
    def get(self, request: Request, run_id: int, namespace: str, name: str) -> Response:
        """Its critical path: steps without gap or overlap. docs/timeline.md has their names."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        return Response(pod_path(run, f"{namespace}/{name}", seq=seq))


class RunChecks(EngineView):
    """Whether the parts of a run agree with each other."""

    @extend_schema(
        operation_id="runs_checks",
        responses=answer_class(Checks),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """What the checks find at the head of the run; no findings when all is well."""
        run = found_run(request, run_id)
        return EngineAnswer(Question.about(run, checks_by_id, {}))


DIAGNOSIS = answer_class(Diagnosis)

_ASKED = query(
    "WhyQuery",
    {
        "seq": whole("after this event; now when absent"),
        "parts": switch(
            "1: lines of JSON as they are found. The first is the diagnosis without fixes, then come "
            '{"fix": …} and last {"outlook": …, "tried": …, "conclusion": …}; a failure after the '
            'first line is a line {"problem": …}'
        ),
    },
)


def _in_parts(whole: Any) -> dict[Any, Any]:
    """The description of an answer that comes as a whole or, with `parts`, in lines."""
    return {(200, "application/json"): whole, (200, JSON_LINES): OpenApiTypes.STR}


class PodWhy(EngineView):
    """Why a pod has no node, and the smallest change that would give it one."""

    @extend_schema(
        parameters=[_ASKED, IF_NONE_MATCH],
        responses=_in_parts(DIAGNOSIS),
    )
    def get(self, request: Request, run_id: int, namespace: str, name: str) -> HttpResponseBase:
        """The diagnosis, with changes tried in forks of the run; docs/why-pending.md."""
        run = found_run(request, run_id)
        self.lasts(run, self.asked["seq"])
        return _answered(self.asked, run, "Pod", f"{namespace}/{name}")


class ObjectWhy(EngineView):
    """Why a claim, volume, node, workload, budget or pod is as it is."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "entity",
                str,
                OpenApiParameter.PATH,
                description="claim/NAMESPACE/NAME, node/NAME, …",
            ),
            _ASKED,
            IF_NONE_MATCH,
        ],
        responses=_in_parts(DIAGNOSIS),
    )
    def get(self, request: Request, run_id: int, entity: str) -> HttpResponseBase:
        """The causes with their facts, and changes tried in forks of the run."""
        run = found_run(request, run_id)
        self.lasts(run, self.asked["seq"])
        prefix, _, key = entity.partition("/")
        # Of a cluster that was brought, any object of its files can be asked about.
        kind = KIND_OF.get(prefix) or (prefix if run.scenario.as_brought else None)
        if kind is None:
            known = ", ".join(sorted(KIND_OF))
            raise ApplicationError(
                gettext("{kind} cannot be asked about; these can: {known}").format(
                    kind=repr(prefix), known=known
                )
            )
        return _answered(self.asked, run, kind, key)


class FirstLook(EngineView):
    """What was read of the files of a run, and how far the model can be trusted on them."""

    @extend_schema(
        operation_id="runs_first_look",
        parameters=[
            query(
                "FirstLookQuery",
                {
                    "parts": switch(
                        "1: two lines of JSON as they are found. The first has what the files alone "
                        "say, the second the rest"
                    )
                },
            )
        ],
        responses=_in_parts(answer_class(FirstLookAnswer)),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer | EngineParts:
        """The cluster as its files say it stands; nothing is played."""
        run = found_run(request, run_id)
        if self.asked["parts"]:
            return EngineParts(_of_large(run, first_look_parts_by_id))
        return EngineAnswer(_of_large(run, first_look_by_id))


class RunTriage(EngineView):
    """What is stuck in a run as it was brought, by cause, and the best change for each cause."""

    @extend_schema(
        operation_id="runs_triage",
        parameters=[
            query(
                "TriageQuery",
                {
                    "parts": switch(
                        "1: lines of JSON as they are found. The first is the triage with its causes; "
                        'unless `is_whole` is set, {"group": place, "changes", "conclusion"} comes '
                        'for each group whose changes were tried, and {"together"} last'
                    )
                },
            )
        ],
        responses=_in_parts(answer_class(Triage)),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer | EngineParts:
        """Nothing is played: causes are what the files say and what the schedulers decide on them."""
        run = found_run(request, run_id)
        if self.asked["parts"]:
            return EngineParts(_of_large(run, triage_parts_by_id))
        return EngineAnswer(_of_large(run, triage_by_id, WHOLE_SECONDS))


def _of_large(run: Run, function: Callable[..., Any], seconds: float = CAUSES_SECONDS) -> Question:
    """A question for which a cluster is made anew, however large it is."""
    return Question.about(run, function, {}, seconds=seconds, lasts=True)


def _answered(asked: dict[str, Any], run: Run, kind: str, key: str) -> HttpResponseBase:
    seq = asked["seq"]
    kept = diagnosis_kept(run, kind, key, seq, in_parts=asked["parts"])
    if kept is not None:
        return kept_answer(kept, in_parts=asked["parts"])
    arguments = {"kind": kind, "key": key, "seq": seq}
    function = diagnosis_parts_by_id if asked["parts"] else diagnosis_by_id
    of_head = seq in (None, run.head_seq)
    question = Question.about(run, function, arguments, lasts=seq is not None, of_head=of_head)
    return EngineParts(question) if asked["parts"] else EngineAnswer(question)


class NodeDrain(RestView):
    """What a drain of a node would do."""

    @extend_schema(
        responses=inline_serializer(
            "Drain",
            {
                "evicted": serializers.IntegerField(help_text="pods that are evicted"),
                "daemon": serializers.IntegerField(help_text="pods of DaemonSets, which stay"),
                "budgets": inline_serializer(
                    "DrainBudget",
                    {
                        "name": serializers.CharField(help_text="NAMESPACE/NAME"),
                        "pods": serializers.IntegerField(help_text="how many of them it covers"),
                        "allowed": serializers.IntegerField(help_text="disruptions it allows now"),
                    },
                    many=True,
                ),
            },
        )
    )
    def get(self, request: Request, run_id: int, name: str) -> Response:
        """Its pods and the disruption budgets that cover them, now; nothing is done."""
        return Response(drain_preview(found_run(request, run_id), name))
