"""What the admin calls the tables of runs, and their columns."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from kscope.runs.models import (
    Checkpoint,
    Command,
    EventRecord,
    OtherObject,
    ProjectedObject,
    Run,
    Scenario,
)
from kscope.words.labels import label_fields, label_model

_TIME: Final = gettext_lazy("time in nanoseconds")
_OBJECT_FIELDS: Final = {
    "run": gettext_lazy("run"),
    "key": gettext_lazy("object"),
    "namespace": gettext_lazy("namespace"),
    "name": gettext_lazy("name"),
    "manifest": gettext_lazy("manifest"),
    "created_seq": gettext_lazy("created at seq"),
    "seq": gettext_lazy("written at seq"),
}


def label_object(
    model: type[ProjectedObject], one: str | Promise, many: str | Promise, **labels: str | Promise
) -> None:
    """What a table of objects is called, and the columns that it has besides those of all."""
    label_model(model, one, many)
    label_fields(model, **_OBJECT_FIELDS, **labels)


label_model(Scenario, gettext_lazy("scenario"), gettext_lazy("scenarios"))
label_fields(
    Scenario,
    name=gettext_lazy("name"),
    owner=gettext_lazy("owner"),
    visibility=gettext_lazy("visibility"),
    question=gettext_lazy("question"),
    digest=gettext_lazy("digest"),
    is_demo=gettext_lazy("demo"),
    position=gettext_lazy("position"),
    summary=gettext_lazy("summary"),
    not_modelled=gettext_lazy("not modelled"),
    report=gettext_lazy("report"),
    as_brought=gettext_lazy("as brought"),
    instant=gettext_lazy("instant"),
    bytes=gettext_lazy("size in bytes"),
    told=gettext_lazy("how it is told"),
    is_of_lessons=gettext_lazy("of lessons"),
    created=gettext_lazy("created"),
)
label_model(Run, gettext_lazy("run"), gettext_lazy("runs"))
label_fields(
    Run,
    name=gettext_lazy("name"),
    scenario=gettext_lazy("scenario"),
    owner=gettext_lazy("owner"),
    visibility=gettext_lazy("visibility"),
    profile=gettext_lazy("version"),
    feature_gates=gettext_lazy("feature gates"),
    external_scheduler=gettext_lazy("external scheduler"),
    external_controllers=gettext_lazy("external controllers"),
    configuration=gettext_lazy("configuration"),
    seed=gettext_lazy("seed"),
    tie_break=gettext_lazy("tie break"),
    ahead=gettext_lazy("how far clocks are ahead"),
    status=gettext_lazy("status"),
    speed=gettext_lazy("speed"),
    step_unit=gettext_lazy("unit of steps"),
    steps_wanted=gettext_lazy("steps wanted"),
    error=gettext_lazy("error"),
    head_seq=gettext_lazy("newest seq"),
    head_at=gettext_lazy("newest time in nanoseconds"),
    head_steps=gettext_lazy("steps"),
    head_commands=gettext_lazy("commands"),
    head_digest=gettext_lazy("digest"),
    parent=gettext_lazy("parent"),
    forked_seq=gettext_lazy("forked at seq"),
)
label_model(EventRecord, gettext_lazy("event"), gettext_lazy("events"))
label_fields(
    EventRecord,
    run=gettext_lazy("run"),
    seq=gettext_lazy("seq"),
    at=_TIME,
    kind=gettext_lazy("kind"),
    object=gettext_lazy("object"),
    component=gettext_lazy("component"),
    cause=gettext_lazy("cause"),
    message=gettext_lazy("message"),
    data=gettext_lazy("data"),
    changes=gettext_lazy("changes"),
)
label_model(Command, gettext_lazy("command"), gettext_lazy("commands"))
label_fields(
    Command,
    id=gettext_lazy("number"),
    run=gettext_lazy("run"),
    body=gettext_lazy("as it was sent"),
    verb=gettext_lazy("verb"),
    object=gettext_lazy("object"),
    status=gettext_lazy("status"),
    reason=gettext_lazy("reason"),
    ordinal=gettext_lazy("place among the commands"),
    position=gettext_lazy("step"),
    at=_TIME,
    outcome_seq=gettext_lazy("seq of its event"),
    written_seq=gettext_lazy("seq of its write"),
    created_seq=gettext_lazy("created at seq"),
    manifest=gettext_lazy("manifest"),
    created=gettext_lazy("sent"),
)
label_model(Checkpoint, gettext_lazy("checkpoint"), gettext_lazy("checkpoints"))
label_fields(
    Checkpoint,
    run=gettext_lazy("run"),
    seq=gettext_lazy("seq"),
    at=_TIME,
    steps=gettext_lazy("steps"),
    commands=gettext_lazy("commands"),
    digest=gettext_lazy("digest"),
    view_digest=gettext_lazy("digest of the view"),
    created=gettext_lazy("written"),
)
label_object(
    OtherObject,
    gettext_lazy("other object"),
    gettext_lazy("other objects"),
    kind=gettext_lazy("kind"),
)
