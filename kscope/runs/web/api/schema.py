"""What the API says of a run, for its OpenAPI description."""

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from kscope.accounts.access import Visibility
from kscope.runs.models import Run
from kscope.runs.web.api.answer_schema import answer_class
from kscope.runs.web.shapes.runs import ImportedFile

RUN = inline_serializer(
    "Run",
    {
        "id": serializers.IntegerField(),
        "name": serializers.CharField(),
        "profile": serializers.CharField(),
        "feature_gates": serializers.DictField(
            child=serializers.BooleanField(),
            help_text="those that differ from the profile's defaults",
        ),
        "external_scheduler": serializers.BooleanField(
            help_text="chosen when it was made: a client of its Kubernetes API decides where pods go"
        ),
        "configured": serializers.BooleanField(
            help_text="the scheduler has a configuration of the run, not that of the scenario"
        ),
        "seed": serializers.IntegerField(),
        "tie_break": serializers.CharField(),
        "status": serializers.ChoiceField(Run.Status.choices),
        "speed": serializers.ChoiceField(Run.Speed.choices),
        "head": serializers.IntegerField(help_text="seq of the newest event"),
        "head_at": serializers.IntegerField(help_text="virtual nanoseconds"),
        "next_at": serializers.IntegerField(allow_null=True),
        "scenario": serializers.CharField(),
        "scenario_id": serializers.IntegerField(),
        "question": serializers.CharField(),
        "select": serializers.CharField(
            help_text="the object that pages select at first, or empty"
        ),
        "answer": serializers.CharField(
            help_text="to the question; empty where the run may go another way than the scenario's"
        ),
        "proof": serializers.DictField(
            child=serializers.CharField(),
            allow_null=True,
            help_text="the event that proves the answer: its kind, object, a part of its message",
        ),
        "error": serializers.CharField(),
        "differs_from": serializers.IntegerField(
            allow_null=True,
            help_text="another version recorded it, and this one differs from this event on",
        ),
        "digest": serializers.CharField(help_text="over the whole history"),
        "parent": serializers.IntegerField(allow_null=True, help_text="the run it is a fork of"),
        "forked_seq": serializers.IntegerField(allow_null=True, help_text="the parent's event"),
        "forked_at": serializers.IntegerField(allow_null=True, help_text="virtual nanoseconds"),
        "goal_at": serializers.IntegerField(
            allow_null=True, help_text="where a fork is being brought to; null once it is there"
        ),
        "forks": serializers.IntegerField(
            required=False, help_text="of it, that you may see; in the answer about one run"
        ),
        "kept": serializers.BooleanField(help_text="never deleted or thinned out by age"),
        "budget": serializers.DictField(
            child=serializers.IntegerField(),
            help_text="what the run may take: events, objects, time (virtual ns), memory (bytes)",
        ),
        "used": serializers.DictField(
            child=serializers.IntegerField(), help_text="and what it has taken of each"
        ),
        "stopped_by": serializers.CharField(help_text="the part that is used up; or empty"),
        "stop_reason": serializers.CharField(),
        "not_modelled": serializers.ListField(
            child=serializers.DictField(), help_text="kinds that the run leaves out, and its effect"
        ),
        "as_brought": serializers.BooleanField(
            help_text="whether it began with a cluster as it stands, so that there is a triage"
        ),
        "standing": serializers.BooleanField(help_text="whether nothing was played or changed yet"),
        "instant": serializers.CharField(help_text="at which the cluster stood so, RFC 3339"),
        "stuck": serializers.IntegerField(
            allow_null=True, help_text="how many causes hold anything; null before it was asked"
        ),
        "imported": answer_class(ImportedFile)(
            allow_null=True, help_text="null for a run that did not come as a file"
        ),
        "owner": serializers.CharField(
            help_text="an account's name; empty where no login is required"
        ),
        "visibility": serializers.ChoiceField(Visibility.choices),
        "created": serializers.CharField(),
    },
)
