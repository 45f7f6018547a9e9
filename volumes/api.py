"""The REST API of volumes and claims."""

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from kscope.runs.access import found_run
from kscope.runs.aside import Question
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.queries import SEQ, query, whole, words
from kscope.runs.web.shapes.open import DetailField
from volumes.selectors import claim_candidates_by_id, volume_claimants_by_id

_CANDIDATE = {
    "volume": serializers.CharField(),
    "capacity": serializers.IntegerField(help_text="bytes"),
    "modes": serializers.ListField(child=serializers.CharField()),
    "class": serializers.CharField(allow_blank=True),
    "phase": serializers.CharField(),
    "prebound": serializers.BooleanField(help_text="whether its claimRef names the claim"),
    "verdict": serializers.CharField(help_text="chosen, fits, or the first rule it breaks"),
    "text": serializers.CharField(help_text="the evidence, in words"),
    "faults": serializers.ListField(
        child=DetailField(), help_text="all rules it breaks: {rule, text, …numbers}"
    ),
}
CANDIDATES = inline_serializer(
    "Candidates",
    {
        "run": serializers.IntegerField(),
        "seq": serializers.IntegerField(),
        "at": serializers.IntegerField(help_text="virtual nanoseconds"),
        "claim": serializers.CharField(),
        "asker": serializers.ChoiceField(
            ["pv-controller", "scheduler"], help_text="the component that chooses"
        ),
        "node": serializers.CharField(
            allow_blank=True, help_text="for which the scheduler chooses"
        ),
        "delayed": serializers.BooleanField(help_text="whether the class waits for a consumer"),
        "chosen": serializers.CharField(allow_blank=True),
        "volumes": serializers.IntegerField(help_text="how many there are"),
        "fits": serializers.IntegerField(),
        "counts": serializers.DictField(child=serializers.IntegerField(), help_text="by verdict"),
        "candidates": inline_serializer("Candidate", _CANDIDATE, many=True),
    },
)


class ClaimCandidates(EngineView):
    """What matching says of every volume for a claim."""

    @extend_schema(
        parameters=[
            query(
                "CandidateQuery",
                {
                    "seq": whole(SEQ),
                    "node": words("as the scheduler chooses for it, if the class waits"),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses=CANDIDATES,
    )
    def get(self, request: Request, run_id: int, namespace: str, name: str) -> EngineAnswer:
        """The volumes in matching order, each with its verdict and evidence; docs/evidence.md."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        arguments = {
            "claim": f"{namespace}/{name}",
            "seq": seq,
            "node": self.asked["node"] or "",
        }
        return EngineAnswer(
            Question.about(run, claim_candidates_by_id, arguments, lasts=seq is not None)
        )


_CLAIMANT = {
    "claim": serializers.CharField(),
    "request": serializers.IntegerField(help_text="bytes"),
    "modes": serializers.ListField(child=serializers.CharField()),
    "class": serializers.CharField(allow_blank=True),
    "verdict": serializers.CharField(help_text="chosen, fits, or the first rule it breaks"),
    "text": serializers.CharField(help_text="the evidence, in words"),
    "faults": serializers.ListField(child=DetailField()),
}
CLAIMANTS = inline_serializer(
    "Claimants",
    {
        "run": serializers.IntegerField(),
        "seq": serializers.IntegerField(),
        "at": serializers.IntegerField(help_text="virtual nanoseconds"),
        "volume": serializers.CharField(),
        "claims": serializers.IntegerField(help_text="how many have no volume"),
        "fits": serializers.IntegerField(),
        "claimants": inline_serializer("Claimant", _CLAIMANT, many=True),
    },
)


class VolumeClaimants(EngineView):
    """What matching says of a volume for every claim that has none."""

    @extend_schema(
        parameters=[query("ClaimantQuery", {"seq": whole(SEQ)}), IF_NONE_MATCH],
        responses=CLAIMANTS,
    )
    def get(self, request: Request, run_id: int, name: str) -> EngineAnswer:
        """The claims that could take it first, each with its verdict; docs/evidence.md."""
        run, seq = found_run(request, run_id), self.asked["seq"]
        self.lasts(run, seq)
        arguments = {"volume": name, "seq": seq}
        return EngineAnswer(
            Question.about(run, volume_claimants_by_id, arguments, lasts=seq is not None)
        )
