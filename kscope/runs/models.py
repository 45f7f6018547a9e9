"""Tables of runs: scenarios, runs, events, checkpoints, commands, and the base of projections."""

import json
from typing import Any

import orjson
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy

from engine.cluster.source import fingerprint
from engine.input.budget import Budget
from kscope.accounts.access import Visibility
from kscope.runs import leases
from kscope.runs.languages.kept import SentenceField
from kscope.runs.manifests.fields import ManifestField, TextOfManifest
from kscope.runs.record.fields import (
    ChangesField,
    EventQuerySet,
    MarkedField,
    MomentField,
    SeqField,
)

_USUAL = Budget()


class StoredJSON(json.JSONDecoder):
    """Reads jsonb, which returns large floats as integers; beyond 64 bits they become floats."""

    def decode(self, s: str, *_: Any) -> Any:
        """See json.JSONDecoder."""
        return orjson.loads(s)


class ManifestText(models.Func):
    """SQL for the text at a path of a manifest: migrations of before ADR 0059 have it in columns."""

    template = "(manifest #>> '{%(path)s}')"

    def __init__(self, *path: str) -> None:
        super().__init__(path=",".join(path), output_field=models.TextField())


class OwnedModel(models.Model):
    """A row that belongs to an account and may be shared; see kscope/accounts/access.py."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        # An account that owns rows is deactivated, not deleted, so its rows keep their owner.
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="%(class)ss",
        help_text=gettext_lazy("empty for what is made where no login is required"),
    )
    visibility = models.CharField(max_length=7, choices=Visibility, default=Visibility.PRIVATE)
    # Django adds the columns of foreign keys and what refers to a model; type checkers cannot know.
    owner_id: int | None

    class Meta:
        abstract = True


class Scenario(OwnedModel):
    """A cluster and what happens to it, as it was loaded; `digest` is of its content."""

    name = models.CharField(max_length=200)
    question = models.TextField(blank=True)
    digest = models.CharField(max_length=64)
    is_demo = models.BooleanField(default=False)
    position = models.IntegerField(default=0, help_text=gettext_lazy("order in the gallery"))
    header = models.JSONField(
        decoder=StoredJSON,
        help_text=gettext_lazy("what the engine is built from, without what its pieces hold"),
    )
    summary = models.JSONField(default=dict, help_text=gettext_lazy("number of objects by kind"))
    not_modelled = models.JSONField(
        default=list,
        blank=True,
        help_text=gettext_lazy("kinds of its files that a run leaves out, and with what effect"),
    )
    report = models.JSONField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "how its files were read: LoadResult.to_report; null for what was kept before"
        ),
    )
    as_brought = models.BooleanField(
        db_default=False,
        help_text=gettext_lazy("a cluster as it stands: files without steps or faults"),
    )
    instant = models.TextField(
        blank=True, db_default="", help_text=gettext_lazy("at which it stood so, in RFC 3339")
    )
    bytes = models.BigIntegerField(
        default=0, help_text=gettext_lazy("of the document and the evidence; counts for the quota")
    )
    told = models.JSONField(
        db_default={},
        default=dict,
        blank=True,
        help_text=gettext_lazy(
            "topic, tags, select, answer and proof of its document, and of which run they are"
        ),
    )
    is_of_lessons = models.BooleanField(
        db_default=False,
        help_text=gettext_lazy("there for lessons alone; no list of scenarios has it"),
    )
    created = models.DateTimeField(auto_now_add=True)
    pieces: "models.Manager[ScenarioPiece]"
    runs: "models.Manager[Run]"
    story: "Story"

    class Meta:
        ordering = ("-is_demo", "position", "name", "id")
        constraints = (
            # Two owners may load the same content; neither learns that the other has it.
            models.UniqueConstraint(
                fields=("owner", "digest"), name="scenario_owner_digest", nulls_distinct=False
            ),
        )

    def __str__(self) -> str:
        return self.name


class ScenarioPiece(models.Model):
    """Items of a part of a scenario's document, in order from place 0: see kscope/runs/contents.py.

    `lines` are compressed JSON lines, `count` of them. Of Secrets and ConfigMaps `objects_aside`
    have the names alone.
    """

    scenario = models.ForeignKey(
        Scenario, on_delete=models.CASCADE, related_name="pieces", db_index=False
    )
    part = models.CharField(max_length=20)
    place = models.IntegerField()
    count = models.IntegerField()
    lines = models.BinaryField()
    scenario_id: int

    class Meta:
        ordering = ("scenario", "part", "place")
        constraints = (
            models.UniqueConstraint(fields=("scenario", "part", "place"), name="piece_of_scenario"),
        )

    def __str__(self) -> str:
        return f"{self.part} {self.place} of {self.scenario_id}"


class Lesson(models.Model):
    """A lesson about a run of a scenario: see docs/lessons.md.

    `document` was checked when it was loaded; file, number, line and lines say where each of its
    fields stands, for what its run does not bear out.
    """

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="lessons")
    slug = models.CharField(max_length=130, unique=True, help_text=gettext_lazy("its address"))
    is_shipped = models.BooleanField(default=False)
    position = models.IntegerField(default=0, help_text=gettext_lazy("order in the list"))
    document = models.JSONField(decoder=StoredJSON)
    file = models.TextField()
    number = models.IntegerField(help_text=gettext_lazy("of the document in its file"))
    line = models.IntegerField()
    lines = models.JSONField(default=dict, help_text=gettext_lazy("line by field"))
    scenario_id: int

    class Meta:
        ordering = ("-is_shipped", "position", "id")

    def __str__(self) -> str:
        return self.slug


class Story(models.Model):
    """A demo as the gallery shows it, made of its run: see engine/diagnosis/story.

    What another engine would draw is drawn again.
    """

    scenario = models.OneToOneField(
        Scenario, on_delete=models.CASCADE, primary_key=True, related_name="story"
    )
    slug = models.CharField(max_length=200, help_text=gettext_lazy("its address"))
    engine_digest = models.CharField(
        max_length=64, help_text=gettext_lazy("source of the engine that played it")
    )
    end = models.BigIntegerField(help_text=gettext_lazy("virtual nanoseconds"))
    events = models.BigIntegerField()
    drawing = models.TextField(help_text=gettext_lazy("SVG: pods and claims in time"))
    reasons = models.JSONField(
        default=list, help_text=gettext_lazy("what Kubernetes Events said in it")
    )
    replay = models.JSONField(default=dict, help_text=gettext_lazy("the run in motion"))

    def __str__(self) -> str:
        return self.slug


class KeptEvidence(models.Model):
    """The files of a scenario that stands say more than its document, which no run plays.

    `newest_write` is an RFC 3339 time. The objects are in pieces of the scenario: `objects_aside`.
    """

    scenario = models.OneToOneField(
        Scenario, on_delete=models.CASCADE, primary_key=True, related_name="evidence"
    )
    newest_write = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"evidence of {self.scenario}"


class Triage(models.Model):
    """What is stuck in a scenario that stands, under a version: see engine/diagnosis/triage.

    `document` is the answer with the changes that were tried; without `is_whole` with causes alone.
    """

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="triages")
    profile = models.CharField(max_length=20)
    feature_gates = models.JSONField(default=dict)
    engine_digest = models.CharField(
        max_length=64, help_text=gettext_lazy("source of the engine that found it")
    )
    stuck = models.IntegerField(help_text=gettext_lazy("how many causes hold anything"))
    is_whole = models.BooleanField(default=False)
    document = models.JSONField(decoder=StoredJSON)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("scenario", "profile", "feature_gates"), name="triage_of_version"
            ),
        )

    def __str__(self) -> str:
        return f"{self.scenario} under {self.profile}: {self.stuck}"


class Run(OwnedModel):
    """One execution of a scenario. The head columns describe the newest committed slice.

    `lease_epoch` rises whenever a worker takes the run; a slice commits only under the epoch its
    worker was given, so a worker that lost the run cannot write to it.

    `forked_seq` is the event of the parent at which a fork was made; its history up to `borrowed_seq`
    is that of its `parts`. A fork has a goal until a worker has replayed the parent that far: the moment `goal_at` and, if the fork repeats the
    parent's history, also the event `goal_seq` or the step `goal_steps`.

    `engine_digest` says which engine wrote the newest slice. If another engine, with the digest
    `differs_for`, replayed the history and decided differently from event `differs_from` on, that
    engine can show the run but not continue it.
    """

    class Status(models.TextChoices):
        PAUSED = "paused", gettext_lazy("Paused")
        PLAYING = "playing", gettext_lazy("Playing")
        FINISHED = "finished", gettext_lazy("Finished")
        FAILED = "failed", gettext_lazy("Failed")

    class Speed(models.TextChoices):
        REAL = "1", "1×"
        TEN = "10", "10×"
        HUNDRED = "100", "100×"
        MAX = "max", gettext_lazy("as fast as possible")

    class StepUnit(models.TextChoices):
        EVENT = "event"
        CYCLE = "cycle"

    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="runs")
    name = models.CharField(max_length=200)
    profile = models.CharField(max_length=20, default="v1.36")
    feature_gates = models.JSONField(
        default=dict,
        blank=True,
        help_text=gettext_lazy("feature gates that differ from the profile's defaults"),
    )
    external_scheduler = models.BooleanField(
        default=False,
        help_text=gettext_lazy("a client of its Kubernetes API decides where pods go"),
    )
    external_controllers = models.JSONField(
        default=list,
        blank=True,
        help_text=gettext_lazy(
            "controllers that a client of its Kubernetes API runs, beside the scenario's"
        ),
    )
    configuration = models.JSONField(
        null=True,
        blank=True,
        decoder=StoredJSON,
        help_text=gettext_lazy("of the scheduler, in place of the scenario's; null for that one"),
    )
    seed = models.BigIntegerField(default=0)
    tie_break = models.CharField(max_length=20, default="random")
    ahead = models.BigIntegerField(
        null=True,
        help_text=gettext_lazy(
            "nanoseconds that clocks show after 2026-01-01 when it begins; null for none"
        ),
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.PAUSED)
    speed = models.CharField(max_length=4, choices=Speed, default=Speed.REAL)
    step_unit = models.CharField(max_length=5, choices=StepUnit, blank=True)
    steps_wanted = models.IntegerField(default=0)
    error = SentenceField(blank=True)

    head_seq = models.BigIntegerField(default=0)
    head_at = models.BigIntegerField(default=0, help_text=gettext_lazy("virtual nanoseconds"))
    head_steps = models.BigIntegerField(default=0)
    head_commands = models.IntegerField(
        default=0, help_text=gettext_lazy("commands carried out so far")
    )
    head_digest = models.CharField(max_length=64, blank=True)
    next_at = models.BigIntegerField(null=True)
    until = models.BigIntegerField(
        null=True, help_text=gettext_lazy("virtual time at which it is finished")
    )
    duration = models.BigIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy("virtual nanoseconds that it lasts, whether anything is due or not"),
    )
    used_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=gettext_lazy("when a client of its Kubernetes API used it last"),
    )
    rows_seq = models.BigIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "event that the rows of its objects are as of; null for the newest one, -1 before the "
            "first rows"
        ),
    )
    rows_asked_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=gettext_lazy("when somebody wanted to read the rows of its objects last"),
    )
    until_pod = models.TextField(
        blank=True, help_text=gettext_lazy("entity id; it plays until this pod is bound or refused")
    )
    trial = models.JSONField(
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "the change tried here, and what becomes of which pod, and when: docs/compare.md"
        ),
    )
    is_started = models.BooleanField(
        default=False, help_text=gettext_lazy("the engine was built once")
    )
    building = models.JSONField(
        null=True,
        blank=True,
        help_text=gettext_lazy("how far its first state is: attempt, objects, of, seconds"),
    )
    kept = models.BooleanField(
        default=False, help_text=gettext_lazy("never deleted or thinned out by age")
    )
    is_of_lessons = models.BooleanField(
        db_default=False,
        help_text=gettext_lazy("made for lessons to be told of; no list of runs has it"),
    )
    engine_digest = models.CharField(
        max_length=64,
        blank=True,
        help_text=gettext_lazy("source of the engine that wrote the newest slice"),
    )
    differs_from = models.BigIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy("first event that another engine decides differently"),
    )
    differs_for = models.CharField(
        max_length=64, blank=True, help_text=gettext_lazy("source of that engine")
    )

    budget_events = models.BigIntegerField(default=_USUAL.events)
    budget_objects = models.BigIntegerField(
        default=_USUAL.objects, help_text=gettext_lazy("at once")
    )
    budget_time = models.BigIntegerField(
        default=_USUAL.time, help_text=gettext_lazy("virtual nanoseconds")
    )
    budget_memory = models.BigIntegerField(
        default=_USUAL.memory, help_text=gettext_lazy("bytes of the process that computes it")
    )
    head_objects = models.BigIntegerField(
        default=0, help_text=gettext_lazy("in the cluster at the head")
    )
    memory_used = models.BigIntegerField(
        default=0, help_text=gettext_lazy("bytes, when it was last measured")
    )
    stopped_by = models.CharField(
        max_length=10, blank=True, help_text=gettext_lazy("the part of its budget that is used up")
    )
    stop_reason = SentenceField(blank=True)

    parent = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="forks"
    )
    forked_seq = models.BigIntegerField(
        null=True, help_text=gettext_lazy("the parent's event it was made at")
    )
    forked_at = models.BigIntegerField(null=True, help_text=gettext_lazy("virtual nanoseconds"))
    borrowed_seq = models.BigIntegerField(
        db_default=-1,
        default=-1,
        help_text=gettext_lazy("events up to this one are read of its ancestors; -1 for none"),
    )
    goal_at = models.BigIntegerField(
        null=True, help_text=gettext_lazy("virtual nanoseconds; null once there")
    )
    goal_seq = models.BigIntegerField(
        null=True, help_text=gettext_lazy("null where the history is another one")
    )
    goal_steps = models.BigIntegerField(
        null=True, help_text=gettext_lazy("null for just after goal_seq")
    )

    lease_owner = models.CharField(max_length=100, blank=True)
    lease_epoch = models.BigIntegerField(default=0)
    lease_since = models.DateTimeField(
        null=True, help_text=gettext_lazy("when the newest owner took the run")
    )
    lease_until = models.DateTimeField(null=True)
    driver_deaths = models.IntegerField(
        default=0,
        db_default=0,
        help_text=gettext_lazy(
            "processes that were killed while they computed it, since its last slice"
        ),
    )
    created = models.DateTimeField(auto_now_add=True)
    scenario_id: int
    parent_id: int | None
    checkpoints: "models.Manager[Checkpoint]"
    keyframes: "models.Manager[Keyframe]"
    parts: "models.Manager[HistoryPart]"

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.name} #{self.pk}"

    @classmethod
    def described(cls) -> "models.QuerySet[Run]":
        """All runs, with their scenarios but without the parts of these that can be large."""
        of_file = ("imported__trail", "imported__answers", "imported__file")
        related = ("scenario", "owner", "imported")
        return cls.objects.select_related(*related).defer("scenario__report", *of_file)

    @classmethod
    def with_worker(cls, runs: "models.QuerySet[Run]") -> "models.QuerySet[Run]":
        """*runs*, each read together with what a worker does for it; see `selectors.run_worker`."""
        return runs.annotate(worker_as_read=RawSQL(leases.WORKER, [fingerprint()]))

    @property
    def stands(self) -> bool:
        """Whether it is a cluster as it was brought: nothing was played or changed so far."""
        is_untouched = not (self.head_at or self.head_commands or self.forked_at)
        return self.scenario.as_brought and is_untouched and self.status != self.Status.PLAYING

    @property
    def is_used(self) -> bool:
        """Whether clients of its Kubernetes API use it: see `leases.used`, for what was read."""
        if self.used_at is None:
            return False
        return abs(timezone.now() - self.used_at).total_seconds() < settings.CLIENT_CLOCK_SECONDS

    @property
    def is_read(self) -> bool:
        """Whether somebody reads the rows of its objects: see `leases.read`, for what was read."""
        if self.rows_asked_at is None:
            return False
        return abs(timezone.now() - self.rows_asked_at).total_seconds() < leases.READ_SECONDS

    @property
    def clock(self) -> int:
        """What clocks of the run show at its head, in nanoseconds since EPOCH."""
        return self.head_at + (self.ahead or 0)

    @property
    def gates_text(self) -> str:
        """The feature gates as the flag --feature-gates lists them."""
        gates = sorted(self.feature_gates.items())
        return ", ".join(f"{name}={str(value).lower()}" for name, value in gates)

    @property
    def cannot_continue_after(self) -> int | None:
        """The first event that this version decides differently; None while the run can go on."""
        return self.differs_from if self.differs_for == fingerprint() else None

    @property
    def budget(self) -> Budget:
        """How many events and objects, how much virtual time and memory the run may use."""
        return Budget(
            events=self.budget_events,
            objects=self.budget_objects,
            time=self.budget_time,
            memory=self.budget_memory,
        )


class HistoryPart(models.Model):
    """What a fork reads of the run *source*: rows after event *after* up to event *upto*, if any.

    Its ancestors, each once: also those that are gone, with their owners. See record/parts.py.
    """

    pk = models.CompositePrimaryKey("run_id", "source")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False, related_name="parts")
    source = models.BigIntegerField(db_index=True)
    after = models.BigIntegerField()
    upto = models.BigIntegerField()
    owner = models.BigIntegerField(null=True, help_text=gettext_lazy("account of the source"))
    created = models.DateTimeField(help_text=gettext_lazy("when the source was made"))
    run_id: int

    class Meta:
        ordering = ("run_id", "upto")

    def __str__(self) -> str:
        return f"run {self.run_id} reads {self.source} up to {self.upto}"


class EventChunk(models.Model):
    """Up to 1,024 successive events of a run, each column as an array: kscope/runs/record.

    Like whatever else forks read of their ancestors, it outlives its run where one still does.

    An event `causes` steps after its cause is caused by that; `marks` stand for its kinds and
    objects. Written only by the runner.
    """

    # The database needs no constraint: whoever writes events has locked the run's row.
    pk = models.CompositePrimaryKey("run_id", "last_seq")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    first_at = models.BigIntegerField()
    last_at = models.BigIntegerField()
    ats = ArrayField(models.BigIntegerField())
    kinds = ArrayField(models.TextField())
    entities = ArrayField(models.TextField())
    components = ArrayField(models.TextField())
    causes = ArrayField(models.IntegerField(null=True))
    messages = ArrayField(models.TextField())
    datas = ArrayField(models.TextField(null=True), help_text=gettext_lazy("JSON, as jsonb has it"))
    changes = ArrayField(models.TextField(null=True), help_text=gettext_lazy("JSON, likewise"))
    marks = ArrayField(models.IntegerField())

    class Meta:
        ordering = ("run_id", "last_seq")
        indexes = (models.Index(fields=("run", "first_at", "last_seq"), name="eventchunk_at"),)

    def __str__(self) -> str:
        return f"events {self.first_seq} to {self.last_seq}"


class ReadEvent(models.Model):
    """An event of a run's history, as the view of the record has it; see docs/events.md.

    `at` never decreases with `seq`: what happened when is found by seq (ADR 0013). `last_seq` is
    that of the row of the record that has the event, and `source` the run that wrote it.
    """

    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="+")
    seq = SeqField()
    at = MomentField()
    kind = MarkedField()
    object = MarkedField()
    component = models.TextField()
    cause = models.BigIntegerField(null=True)
    message = models.TextField()
    data = models.JSONField(null=True)
    changes = ChangesField(null=True)
    last_seq = models.BigIntegerField()
    source = models.BigIntegerField()
    objects = EventQuerySet.as_manager()
    run_id: int

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.object}"


class RunEvent(ReadEvent):
    """One event of a run's history. `(run, seq)` without gaps."""

    pk = models.CompositePrimaryKey("run_id", "seq")

    class Meta:
        managed = False
        db_table = "runs_runevent"
        ordering = ("run_id", "seq")


class EventRecord(ReadEvent):
    """The events with a key of one column, which the admin needs."""

    id = models.TextField(primary_key=True, help_text=gettext_lazy("run-seq"))

    class Meta:
        managed = False
        db_table = "runs_eventrecord"
        ordering = ("-run_id", "-seq")
        unique_together = (("run", "seq"),)
        verbose_name = gettext_lazy("event")


class Checkpoint(models.Model):
    """The engine at one committed head: where recovery begins.

    `view` is the view state, where an older version wrote it; now keyframes have it.
    """

    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, db_constraint=False, related_name="checkpoints"
    )
    seq = models.BigIntegerField()
    at = models.BigIntegerField()
    steps = models.BigIntegerField()
    commands = models.IntegerField(help_text=gettext_lazy("commands carried out before it"))
    digest = models.CharField(max_length=64, help_text=gettext_lazy("of the history up to seq"))
    engine = models.BinaryField(
        help_text=gettext_lazy("zstd over the engine's own pickle; zlib before format 8")
    )
    view = models.BinaryField(
        default=b"", help_text=gettext_lazy("zlib over the JSON of the view state; empty: none")
    )
    view_digest = models.CharField(max_length=64, blank=True)
    engine_digest = models.CharField(
        max_length=64, blank=True, help_text=gettext_lazy("source of the engine that wrote it")
    )
    created = models.DateTimeField(auto_now_add=True)
    run_id: int

    class Meta:
        ordering = ("run_id", "seq")
        constraints = (models.UniqueConstraint(fields=("run", "seq"), name="checkpoint_run_seq"),)

    def __str__(self) -> str:
        return f"checkpoint of run {self.run_id} at {self.seq}"


class Keyframe(models.Model):
    """The view state after event *seq*, as levels of chunks: see kscope/runs/history.

    `levels` are [digest, number of entities] of each, the lowest first. `samples` is what
    was counted of the events since the keyframe before, once somebody has asked (history/series.py).
    """

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(
        Run,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="keyframes",
    )
    seq = models.BigIntegerField()
    at = models.BigIntegerField()
    levels = models.JSONField()
    samples = models.JSONField(null=True)
    run_id: int

    class Meta:
        ordering = ("run_id", "seq")

    def __str__(self) -> str:
        return f"keyframe of run {self.run_id} at {self.seq}"


class ViewChunk(models.Model):
    """A part of the view states of a run, by the digest of its text; several keyframes may use it."""

    pk = models.CompositePrimaryKey("run_id", "digest")
    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    digest = models.CharField(max_length=32)
    body = models.BinaryField(help_text="zlib")
    run_id: int

    def __str__(self) -> str:
        return f"chunk {self.digest} of run {self.run_id}"


class KeptAnswer(models.Model):
    """What an engine answered about the run as it stood after event *seq*.

    `question` is the digest of what was asked, of which engine, and of where exactly the run stood;
    `parts` are what it answered with, in no language: see kscope/runs/answers_kept.py.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    seq = models.BigIntegerField()
    question = models.CharField(max_length=64)
    parts = models.BinaryField(help_text="zlib")
    created = models.DateTimeField(auto_now_add=True)
    run_id: int

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("run", "question"), name="keptanswer_run_question"),
        )

    def __str__(self) -> str:
        return f"answer about run {self.run_id} at {self.seq}"


class CommandManager(models.Manager["Command"]):
    """Reads commands without what they wrote, which can be large and is seldom asked for."""

    def get_queryset(self) -> "models.QuerySet[Command]":
        """See Manager."""
        return super().get_queryset().defer("manifest")


class Command(models.Model):
    """Something a user did to a live run.

    `ordinal` is its place among the commands carried out, `(position, at)` the step and the virtual
    time at which the engine took it: enough to repeat it. A pending command that already has these
    was copied from the parent; the fork repeats it on the way to its goal.

    `manifest` is its object as it left it, after event `written_seq`. The object's own row has the
    newest version only; the writer of this one, and watchers, get it whatever was written since.
    """

    class Status(models.TextChoices):
        PENDING = "pending", gettext_lazy("Pending")
        APPLIED = "applied", gettext_lazy("Applied")
        REJECTED = "rejected", gettext_lazy("Rejected")

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="commands")
    body = models.JSONField(decoder=StoredJSON)
    verb = models.CharField(max_length=20)
    object = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    reason = models.TextField(blank=True)
    ordinal = models.IntegerField(null=True)
    position = models.BigIntegerField(null=True)
    at = models.BigIntegerField(null=True)
    outcome_seq = models.BigIntegerField(null=True)
    written_seq = models.BigIntegerField(
        null=True,
        help_text=gettext_lazy(
            "of the event that wrote its object, as it left it; null if it is gone"
        ),
    )
    created_seq = models.BigIntegerField(
        null=True, help_text=gettext_lazy("of the event that created that object")
    )
    manifest = models.JSONField(
        null=True, decoder=StoredJSON, help_text=gettext_lazy("that object")
    )
    created = models.DateTimeField(auto_now_add=True)
    objects = CommandManager()
    run_id: int

    class Meta:
        ordering = ("run_id", "id")
        constraints = (
            models.UniqueConstraint(fields=("run", "ordinal"), name="command_run_ordinal"),
        )
        indexes = (
            models.Index(
                fields=("run", "id"),
                condition=models.Q(status="pending"),
                name="command_pending",
            ),
            models.Index(
                fields=("run", "written_seq"),
                condition=models.Q(written_seq__isnull=False),
                name="command_written",
            ),
        )

    def __str__(self) -> str:
        return f"{self.verb} {self.object}"


class ProjectedObject(models.Model):
    """The newest manifest of one simulated object. Written only by the runner.

    The columns that are filtered on are taken from the manifest whenever it is written.
    """

    PREFIX = ""  # of the entity id: "pod", "node", …

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    key = models.TextField(help_text=gettext_lazy("NAMESPACE/NAME, or NAME"))
    manifest = ManifestField()
    created_seq = models.BigIntegerField(
        default=0, help_text=gettext_lazy("of the event that created it")
    )
    seq = models.BigIntegerField(
        default=0, help_text=gettext_lazy("of the newest event that wrote it")
    )
    namespace = TextOfManifest(("metadata", "namespace"))
    name = TextOfManifest(("metadata", "name"))
    run_id: int

    class Meta:
        abstract = True
        ordering = ("run_id", "key")
        constraints = (models.UniqueConstraint(fields=("run", "key"), name="%(class)s_run_key"),)

    def __str__(self) -> str:
        return self.key

    @property
    def entity(self) -> str:
        """The id of the entity in the view state."""
        return f"{self.PREFIX}/{self.key}"

    def metadata(self, name: str) -> Any:
        """A field of the manifest's metadata, or None."""
        return (self.manifest.get("metadata") or {}).get(name)


class OtherObject(ProjectedObject):
    """An object of a kind that has no table of its own; `key` begins with the kind."""

    kind = TextOfManifest(("kind",))

    class Meta(ProjectedObject.Meta):
        pass

    @property
    def entity(self) -> str:
        return self.key


class ClientLease(models.Model):
    """A Lease by which clients of the Kubernetes API elect a leader. Written by the API alone.

    It is renewed every two seconds, which nobody wants to see in a history: it has none. `version`
    counts its writes on from the run's newest event.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False)
    key = models.TextField(help_text="NAMESPACE/NAME")
    version = models.BigIntegerField()
    manifest = models.JSONField()

    class Meta:
        ordering = ("run_id", "key")
        constraints = (models.UniqueConstraint(fields=("run", "key"), name="clientlease_run_key"),)

    def __str__(self) -> str:
        return self.key


class SealedData(models.Model):
    """The data of one version of a Secret, sealed with the key of the installation: ADR 0054.

    The Secret of the run names its row by the `token`. Written by the Kubernetes API alone.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False)
    token = models.TextField()
    sealed = models.BinaryField()

    class Meta:
        ordering = ("run_id", "token")
        constraints = (models.UniqueConstraint(fields=("run", "token"), name="sealeddata_token"),)

    def __str__(self) -> str:
        return self.token


class ImportedRun(models.Model):
    """The file from which a run came, until it was played again: see docs/run-file.md.

    `trail`, `answers` and `file` are what the replay is held against; they go when it is over. `file`
    is there only where it has a history. `mine` and `theirs` are the texts of the event at which the
    two part, `theirs` null where the file does not say it.
    """

    class Verdict(models.TextChoices):
        PLAYING = "playing"
        SAME = "same"
        PARTED = "parted"

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="imported"
    )
    digest = models.CharField(max_length=64)
    events = models.BigIntegerField()
    written_by = models.CharField(max_length=100, blank=True)
    withheld = models.JSONField(default=list, blank=True)
    trail = models.BinaryField(default=b"", blank=True)
    answers = models.JSONField(decoder=StoredJSON, default=list, blank=True)
    file = models.BinaryField(null=True, blank=True)
    verdict = models.CharField(max_length=10, choices=Verdict, default=Verdict.PLAYING)
    parted_seq = models.BigIntegerField(null=True, blank=True)
    mine = models.TextField(blank=True)
    theirs = models.TextField(null=True, blank=True)
    run_id: int

    def __str__(self) -> str:
        return f"file of run {self.run_id}: {self.verdict}"


class WriteKey(models.Model):
    """What a client's `Idempotency-Key` names, for ten minutes: kscope/runs/write_keys.py.

    `promise` says what is to be answered once `commands` are carried out.
    """

    owner = models.TextField(help_text=gettext_lazy("whose it is: account 3, or address 10.0.0.7"))
    key = models.CharField(max_length=255)
    method = models.CharField(max_length=10)
    path = models.TextField()
    digest = models.CharField(max_length=64, help_text=gettext_lazy("of the body and its type"))
    version = models.IntegerField(default=0, help_text=gettext_lazy("rises with each step"))
    commands = models.JSONField(default=list, help_text=gettext_lazy("their numbers"))
    promise = models.JSONField(null=True)
    status = models.SmallIntegerField(
        null=True, help_text=gettext_lazy("null until it is answered")
    )
    headers = models.JSONField(default=dict)
    body = models.BinaryField(null=True, help_text="zlib")
    created = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("owner", "key"), name="writekey_owner_key"),)

    def __str__(self) -> str:
        return f"{self.method} {self.path} of {self.owner}"


class RemovedObject(models.Model):
    """An object that is gone, as it was when event *seq* removed it. Written only by the runner.

    A client of the Kubernetes API that watches from an earlier event is given it.
    """

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    seq = models.BigIntegerField()
    created_seq = models.BigIntegerField(help_text=gettext_lazy("of the event that created it"))
    object = models.TextField(help_text=gettext_lazy("entity id"))
    manifest = ManifestField()

    class Meta:
        ordering = ("run_id", "seq")
        indexes = (
            # Of many removed pods few are removed nodes, which those name.
            models.Index(
                fields=["run", "seq"],
                name="removed_nodes",
                condition=models.Q(object__startswith="node/"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.object} until {self.seq}"


class ManifestDictionary(models.Model):
    """What manifests of a kind have in common: `kscope/runs/manifests` stores those of its run with it.

    Written with the slice after event *seq*, by the runner alone. Values that only those who may
    change the run are shown are not in it.
    """

    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    seq = models.BigIntegerField()
    kind = models.TextField()
    digest = models.BinaryField()
    content = models.BinaryField()
    run_id: int

    class Meta:
        ordering = ("run_id", "id")
        constraints = (
            models.UniqueConstraint(fields=("digest", "run"), name="dictionary_digest_run"),
        )
        indexes = (models.Index(fields=("run", "seq"), name="dictionary_run_seq"),)

    def __str__(self) -> str:
        return f"manifests of {self.kind} in run {self.run_id}"


__all__ = [
    "Checkpoint",
    "Command",
    "EventChunk",
    "EventRecord",
    "HistoryPart",
    "KeptAnswer",
    "Keyframe",
    "Lesson",
    "ManifestDictionary",
    "OtherObject",
    "ProjectedObject",
    "RemovedObject",
    "Run",
    "RunEvent",
    "Scenario",
    "ViewChunk",
]
