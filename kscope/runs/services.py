"""What can be done with scenarios and runs. Every write of the web side goes through here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, ProtectedError, Q
from django.db.models.functions import Now
from django.utils.translation import gettext, ngettext

from engine.api_server.validation.kinds import is_known
from engine.cluster.commands import Command as EngineCommand
from engine.input import scenario as sim_scenario
from engine.input.budget import MOST, Budget
from engine.input.cleaning import clean_command
from engine.input.header.command_marks import with_command_marks
from engine.input.header.external import EXTERNAL_CONTROLLERS
from engine.input.header.job_marks import with_job_marks
from engine.input.load_result import LoadedLesson, LoadResult
from engine.input.scenario import duration_of, parse_duration
from engine.kernel.errors import SimError
from engine.kernel.stored_sentences import stored
from engine.kernel.units import MINUTE, nanoseconds_of
from engine.objects.custom.definition import group_of, kind_in_group
from engine.objects.kinds import NAMESPACED, entity_id
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.names import place_of
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.registry import DEFAULT, VERSIONS
from engine.versions.shown.choices import proposed_version, version_choices
from kscope.accounts.access import Visibility
from kscope.runs import leases
from kscope.runs.app_registry import registry
from kscope.runs.capacity.quotas import quotas_check
from kscope.runs.capacity.waiting import moments
from kscope.runs.contents import Digest, Packed, packed, pieces_keep
from kscope.runs.drive.forks import commands_plan, fork_begun, history_borrow
from kscope.runs.errors import ApplicationError
from kscope.runs.history.changes import time_of
from kscope.runs.history.release import histories_release
from kscope.runs.languages.reader import said
from kscope.runs.models import Command, KeptEvidence, Lesson, Run, Scenario
from kscope.runs.nudges import publish_head, wake_drivers
from kscope.runs.record.parts import parts_borrow, parts_of
from kscope.runs.selectors import check_seq, run_scripts

TIE_BREAKS = ("random", "name")
SAFE_SEED = 2**53
# How long a page or a request waits for what became of its command.
ANSWER_SECONDS = 5.0
# How long in virtual time a change that was only decided on is given to show what comes of it.
TRIAL_PATIENCE = 6 * MINUTE


def scenario_store(
    *,
    name: str,
    result: LoadResult,
    is_demo: bool = False,
    position: int = 0,
    question: str = "",
    owner_id: int | None = None,
    at: str = "",
    is_of_lessons: bool = False,
) -> Scenario:
    """Keep loaded files as a scenario; the same content is kept once for each owner.

    *at* is the time of the import, in whole seconds of UTC; see Scenario.from_load(). With
    *is_of_lessons* it is there for the lessons of its files alone, and belongs to the installation.

    Raises ApplicationError when the files have problems, or the owner keeps too much: then nothing
    is saved.
    """
    if not result.ok:
        raise ApplicationError(
            gettext("The files have problems; nothing was saved."),
            {"problems": [str(problem) for problem in result.problems]},
        )
    loaded = sim_scenario.Scenario.from_load(result, name=name, at=at)
    document = loaded.to_dict()
    evidence = _evidence(result) if loaded.stands else None
    # When it was imported makes no other scenario: the time of the first import stays.
    files_name_it = (result.scenario or {}).get("instant") or result.instant
    digest = Digest(without=() if files_name_it else ("instant",))
    content = packed(document, digest)
    if evidence is not None:
        # Other evidence makes another scenario as well, because it leads to other answers.
        content.pieces += packed(evidence, digest).pieces
    kinds = Counter(str(manifest["kind"]) for manifest in loaded.objects)
    fields = {
        "name": loaded.title or loaded.name,
        "question": question or loaded.question,
        "is_demo": is_demo,
        "position": position,
        "header": content.header,
        "summary": dict(sorted(kinds.items())),
        "not_modelled": document.get("not_modelled", []),
        # Without a language: it is said in that of each reader.
        "report": stored(result.to_report()),
        "as_brought": loaded.stands,
        "instant": document.get("instant", ""),
        "bytes": digest.bytes,
        "told": _told(document),
        "is_of_lessons": is_of_lessons,
        "visibility": Visibility.PUBLIC if is_demo or is_of_lessons else Visibility.PRIVATE,
    }
    with transaction.atomic():
        if is_demo or is_of_lessons:
            known = {"digest": digest.hex, "owner": None}
            demo, is_new = Scenario.objects.update_or_create(**known, defaults=fields)
            if is_new:
                _keep_content(demo, content, evidence)
            return demo
        quotas_check(owner_id)
        # An upload with the content of a demo is the demo.
        # With lessons it is its owner's: nobody writes lessons for those who look at the demo.
        whose = Q(owner_id=owner_id) if result.lessons else Q(owner_id=owner_id) | Q(is_demo=True)
        known = Scenario.objects.filter(whose, digest=digest.hex)
        found = known.order_by("is_demo").first()
        if found is None:
            quotas_check(owner_id, uploads=1, upload_bytes=fields["bytes"])
            found, is_new = Scenario.objects.get_or_create(
                digest=digest.hex, owner_id=owner_id, defaults=fields
            )
            if is_new:
                _keep_content(found, content, evidence)
        elif not found.is_demo:
            # The same objects may come in other files.
            found.report = fields["report"]
            found.save(update_fields=["report"])
        lessons_keep(scenario=found, loaded=result.lessons)
        return found


def _told(document: dict[str, Any]) -> dict[str, Any]:
    """How the scenario is told, and the choices of the runs that its answer is about."""
    told = document.get("told")
    if not told:
        return {}
    gates = document.get("feature_gates") or {}
    return {
        **told,
        "of": {
            "profile": document.get("profile") or DEFAULT.name,
            "seed": document.get("seed") or 0,
            "feature_gates": gates,
        },
    }


def lessons_keep(
    *, scenario: Scenario, loaded: Sequence[LoadedLesson], position: int | None = None
) -> None:
    """Keep lessons about *scenario*; one that is there already is replaced.

    With a *position* in the list they are those that kscope ships, and their names are addresses.
    """
    is_shipped = position is not None
    for place, one in enumerate(loaded):
        Lesson.objects.update_or_create(
            slug=one.name if is_shipped else f"{one.name}-{scenario.pk}",
            defaults={
                "scenario": scenario,
                "is_shipped": is_shipped,
                "position": (position or 0) + place,
                "document": one.document,
                "file": one.origin.file,
                "number": one.origin.document,
                "line": one.origin.line,
                "lines": dict(one.lines),
            },
        )


def _evidence(result: LoadResult) -> dict[str, Any] | None:
    """What the files say beside the objects that a run plays; None for nothing."""
    aside = [one.manifest for one in result.kept_aside]
    if not (aside or result.newest_write):
        return None
    return {"objects_aside": aside, "newest_write": result.newest_write}


def _keep_content(scenario: Scenario, content: Packed, evidence: dict[str, Any] | None) -> None:
    pieces_keep(scenario, content.pieces)
    if evidence is not None:
        KeptEvidence.objects.create(scenario=scenario, newest_write=evidence["newest_write"])


def scenario_delete(*, scenario: Scenario) -> None:
    """Delete an upload. Raises ApplicationError while there are runs of it, and for a demo."""
    if scenario.is_demo:
        raise ApplicationError(gettext("A demo cannot be deleted."), status=409)
    number = scenario.runs.count()
    if number:
        words = ngettext(
            "{number} run was made from it; delete it first.",
            "{number} runs were made from it; delete them first.",
            number,
        )
        raise ApplicationError(words.format(number=number), status=409)
    try:
        scenario.delete()
    except ProtectedError as used:
        raise ApplicationError(gettext("A run was made from it just now."), status=409) from used


def owned_share(*, thing: Run | Scenario, visibility: str) -> None:
    """Change who may see a run or a scenario; open streams of those who may not are closed."""
    thing.visibility = Visibility(visibility)
    thing.save(update_fields=["visibility"])
    if isinstance(thing, Run):
        run_announce(thing)


class RunOptions(TypedDict, total=False):
    """What is chosen for a new run; everything else is as in its scenario."""

    profile: str
    # None: those of the scenario that the profile has.
    feature_gates: Mapping[str, bool] | None
    # Leave the pods of default-scheduler, or else of the first, to a client of the Kubernetes API.
    external_scheduler: bool
    # Leave these to one, beside those of the scenario; names of EXTERNAL_CONTROLLERS.
    external_controllers: Sequence[str]
    # Of the scheduler, in place of the scenario's. None: that one.
    configuration: dict[str, Any] | None
    seed: int | None
    tie_break: str
    play: bool
    # Without one 10×, or 1× where a client does a part of the work, in the time of the wall.
    speed: str
    # Virtual nanoseconds that it lasts, due or not. None: the scenario's, if it has one.
    duration: int | None
    is_of_lessons: bool


def run_create(
    *, scenario: Scenario, owner_id: int | None = None, **options: Unpack[RunOptions]
) -> Run:
    """A new run of *scenario*, from its beginning.

    Raises ApplicationError for a bad choice, or when its owner has too many.
    """
    document = scenario.header
    profile = options.get("profile") or document.get("profile") or _proposed_version(scenario)
    gates = options.get("feature_gates")
    if gates is None:
        gates = _gates_of(profile, document.get("feature_gates") or {})
    seed, tie_break = options.get("seed"), options.get("tie_break") or "random"
    external, play = options.get("external_scheduler", False), options.get("play", False)
    controllers = [*options.get("external_controllers", ())]
    if seed is None:
        seed = int(document.get("seed") or 0)
    chosen: RunChoice = {
        "profile": profile,
        "feature_gates": dict(gates),
        "external_scheduler": external,
        "external_controllers": controllers,
        "configuration": options.get("configuration"),
        "seed": seed,
        "tie_break": tie_break,
    }
    _check_choice(document, chosen)
    duration = options.get("duration")
    with transaction.atomic():
        quotas_check(owner_id, runs=1, playing=int(play))
        run = Run.objects.create(
            scenario=scenario,
            name=document.get("name") or scenario.name,
            **chosen,
            ahead=run_ahead(scenario.instant),
            duration=duration_of(document) if duration is None else duration,
            status=Run.Status.PLAYING if play else Run.Status.PAUSED,
            speed=options.get("speed")
            or (Run.Speed.REAL if external or controllers else Run.Speed.TEN),
            owner_id=owner_id,
            is_of_lessons=options.get("is_of_lessons", False),
            **budget_columns(Budget.of(document)),
        )
        run_wake(run.pk)
    return run


def duration_chosen(text: str) -> int:
    """How long a run is to last, in virtual ns, from "12h" or "1m30s". Raises ApplicationError."""
    try:
        chosen = parse_duration(text)
    except ValueError:
        chosen = 0
    if not chosen:
        raise ApplicationError(
            gettext(
                "duration is {duration}; it must be like 90s, 1m30s or 12h, and at most 73 years"
            ).format(duration=repr(text))
        )
    return chosen


def run_ahead(instant: str) -> int | None:
    """How much later than EPOCH clocks of a run show at its beginning, in ns; None for no instant."""
    return nanoseconds_of(instant) if instant else None


def run_start_again(
    *, run: Run, owner_id: int | None = None, replaces: bool, **options: Unpack[RunOptions]
) -> Run:
    """A new run of the scenario of *run*, with other choices.

    With *replaces* it takes the place of *run*, if nobody has made anything of that yet. Raises
    ApplicationError as run_create does; then *run* is still there.
    """
    with transaction.atomic():
        # No command and no fork comes in between.
        found = Run.objects.select_for_update().filter(pk=run.pk).first()
        if replaces and found is not None and _is_untouched(found):
            run_delete(run=found)
        return run_create(scenario=run.scenario, owner_id=owner_id, **options)


def _is_untouched(run: Run) -> bool:
    """Whether the run is as it was made: not played, changed, forked, shared or kept."""
    was_used = run.head_at or run.steps_wanted or run.forked_at is not None or run.kept
    if was_used or run.status != Run.Status.PAUSED or run.visibility != Visibility.PRIVATE:
        return False
    forks, commands = Run.objects.filter(parent=run), Command.objects.filter(run=run)
    return not (forks.exists() or commands.exists())


def _proposed_version(scenario: Scenario) -> str:
    """The version that the files of a cluster that was brought tell, else the default."""
    report = scenario.report or {} if scenario.as_brought else {}
    # Reports of older versions have those of kubelets alone.
    return proposed_version(report.get("versions") or report.get("kubelets") or ())


def _gates_of(profile: str, gates: Mapping[str, bool]) -> dict[str, bool]:
    """Those of *gates* that can be set under *profile*; all, for a profile that does not exist."""
    settable = next((one.gates for one in version_choices() if one.name == profile), gates)
    return {name: value for name, value in gates.items() if name in settable}


class RunChoice(TypedDict):
    """What is chosen for a run, of which its history is a function; columns of the run."""

    profile: str
    feature_gates: dict[str, bool]
    external_scheduler: bool
    external_controllers: list[str]
    configuration: dict[str, Any] | None
    seed: int
    tie_break: str


def _check_choice(document: dict[str, Any], chosen: RunChoice) -> None:
    profile, seed, tie_break = chosen["profile"], chosen["seed"], chosen["tie_break"]
    if profile not in VERSIONS:
        raise ApplicationError(
            gettext("profile is {profile}; it must be one of {known}").format(
                profile=repr(profile), known=", ".join(VERSIONS)
            )
        )
    unknown = [name for name in chosen["external_controllers"] if name not in EXTERNAL_CONTROLLERS]
    if unknown:
        raise ApplicationError(
            gettext("external_controllers: {name} is unknown; these are known: {known}").format(
                name=repr(unknown[0]), known=", ".join(EXTERNAL_CONTROLLERS)
            )
        )
    if chosen["configuration"] is not None and document.get("schedulers"):
        raise ApplicationError(
            gettext(
                "configuration: the scenario says how each of its schedulers is configured "
                "(spec.schedulers); change it there"
            )
        )
    setup: dict[str, Any] = {
        name: chosen[name] for name in ("profile", "feature_gates", "external_scheduler")
    }
    if chosen["configuration"] is not None:
        setup["configuration"] = chosen["configuration"]
    refusal = _setup_refusal({**document, **setup})
    if refusal:
        raise ApplicationError(refusal)
    if tie_break not in TIE_BREAKS:
        raise ApplicationError(
            gettext("tie_break is {tie_break}; it must be one of {known}").format(
                tie_break=repr(tie_break), known=", ".join(TIE_BREAKS)
            )
        )
    if not -SAFE_SEED < seed < SAFE_SEED:
        raise ApplicationError(
            gettext("seed is {seed}; it must lie within ±2^53").format(seed=seed)
        )


def _setup_refusal(scenario: dict[str, Any]) -> str:
    """Why the schedulers of *scenario*, with what is chosen for a run, cannot be set up, or ""."""
    report = check_setup(scenario, scenario.get("configuration"))
    return "; ".join(f"{one.part}.{one.path}: {one.message}" for one in report.faults)


class ForkOptions(TypedDict, total=False):
    """What is chosen for a fork; everything else is as in its parent."""

    name: str
    profile: str
    # None: those of the parent that the profile has.
    feature_gates: Mapping[str, bool] | None
    # None: that of the parent.
    configuration: dict[str, Any] | None
    seed: int | None
    tie_break: str
    play: bool
    # Without one that of the parent.
    speed: str
    # Compute the history again instead of reading it: another version of kscope may differ.
    afresh: bool


def run_fork(
    *,
    run: Run,
    seq: int | None = None,
    owner_id: int | None = None,
    **options: Unpack[ForkOptions],
) -> Run:
    """A new run that begins where *run* stood after event *seq* (default: its newest event).

    With the profile, gates, configuration, seed and tie break of *run*, the fork has the same events up to there, else the
    same scenario and commands up to the same virtual time; a worker brings it there. Events of one
    step come together: a fork at one of them has all of them. Whether a client of the Kubernetes
    API decides on pods is as in *run*.

    Raises ApplicationError for a bad choice, or when the run has no such event (any more).
    """
    parent = Run.described().get(pk=run.pk)
    play, seed = options.get("play", False), options.get("seed")
    profile, gates = options.get("profile") or parent.profile, options.get("feature_gates")
    configuration = options.get("configuration")
    chosen: RunChoice = {
        "profile": profile,
        "feature_gates": _gates_of(profile, parent.feature_gates) if gates is None else dict(gates),
        "external_scheduler": parent.external_scheduler,
        "external_controllers": parent.external_controllers,
        "configuration": parent.configuration if configuration is None else configuration,
        "seed": parent.seed if seed is None else seed,
        "tie_break": options.get("tie_break") or parent.tie_break,
    }
    _check_choice(parent.scenario.header, chosen)
    seq = parent.head_seq if seq is None else seq
    at = _moment_of(parent, seq)
    is_same = all(getattr(parent, field) == value for field, value in chosen.items())
    is_same = is_same and not options.get("afresh")
    if is_same:
        _check_can_continue(parent)
    begun = fork_begun(parent, seq) if is_same else None
    try:
        with transaction.atomic():
            quotas_check(owner_id, runs=1, playing=int(play))
            fork = Run.objects.create(
                scenario_id=parent.scenario_id,
                owner_id=owner_id,
                name=options.get("name") or parent.name,
                status=Run.Status.PLAYING if play else Run.Status.PAUSED,
                speed=options.get("speed") or parent.speed,
                until=parent.until,
                duration=parent.duration,
                parent=parent,
                ahead=parent.ahead,
                forked_seq=seq,
                forked_at=at,
                goal_at=at,
                goal_seq=seq if is_same else None,
                goal_steps=parent.head_steps if is_same and seq == parent.head_seq else None,
                **budget_columns(parent.budget),
                **chosen,
                **(begun.columns if begun else {}),
            )
            sealed_copy(parent, fork)
            if begun:
                history_borrow(parent, fork, begun)
            else:
                parts_borrow(fork, parent, -1)
            commands_plan(parent, fork, seq=seq, at=at)
    except IntegrityError as gone:  # the parent is looked for when everything is written
        raise ApplicationError(gone_words(parent.pk), status=404) from gone
    run_wake(fork.pk)
    return fork


def sealed_copy(parent: Run, fork: Run) -> None:
    """Give a fork of one's own the sealed data of Secrets; forks of others have none."""
    if fork.owner_id != parent.owner_id:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runs_sealeddata (run_id, token, sealed)"
            " SELECT %s, token, sealed FROM runs_sealeddata WHERE run_id = %s",
            [fork.pk, parent.pk],
        )


def _moment_of(run: Run, seq: int) -> int:
    """When event *seq* happened; of the newest event, how far the run has come since."""
    check_seq(run, seq)
    if seq == run.head_seq:
        return run.head_at
    return time_of(run.pk, seq)


def _check_can_continue(run: Run) -> None:
    """Raises ApplicationError when another engine recorded the run and this one differs."""
    seq = run.cannot_continue_after
    if seq is not None:
        raise ApplicationError(
            gettext(
                "This run was recorded by another version of kscope. From event {seq} on, this "
                "version decides differently: the run can be read, but not continued. Repeat it to "
                "see what this version does."
            ).format(seq=f"{seq:,}"),
            {"differs_from": seq},
            status=409,
        )


def run_wait_for_goal(*, run: Run, seconds: float = ANSWER_SECONDS) -> Run:
    """The fork once it is where it begins, or as it is when the time is up."""
    for _ in moments(seconds):
        if run.goal_at is None or run.status == Run.Status.FAILED:
            break
        run = Run.described().get(pk=run.pk)
    return run


def run_keep(*, run: Run, kept: bool) -> Run:
    """Have retention spare the run, whatever its age, or no longer."""
    Run.objects.filter(pk=run.pk).update(kept=kept)
    run.kept = kept
    return run


def run_delete(*, run: Run) -> None:
    """Delete the run with all it recorded but what forks read: these stay as they are.

    Its worker, if any, finds that it has lost it, and streams of it end. Nothing is done when it is
    gone already.
    """
    run_id, head = run.pk, run.head_seq
    with transaction.atomic():
        # Locked first: a slice that is being written would otherwise leave rows behind.
        found = Run.objects.select_for_update().filter(pk=run_id).first()
        if found is not None:
            read = parts_of(run_id)
            found.delete()
            histories_release(run_id, read)
        transaction.on_commit(lambda: wake_drivers(run_id))
        transaction.on_commit(lambda: publish_head(run_id, head))


def budget_columns(budget: Budget) -> dict[str, int]:
    """The columns of a run that keep *budget*."""
    return {f"budget_{part}": amount for part, amount in budget.to_dict().items()}


def run_budget_change(*, run: Run, wanted: dict[str, int | None], play: bool = False) -> Run:
    """Change parts of what the run may take; with *play* it goes on if it had used them up.

    Raises ApplicationError for an amount that cannot be kept.
    """
    for part, amount in wanted.items():
        if amount is not None and not 0 < amount <= MOST:
            raise ApplicationError(
                gettext("{part} is {amount}; it must be between 1 and {most}").format(
                    part=part, amount=amount, most=f"{MOST:,}"
                )
            )
    with transaction.atomic():
        if play and run.status != Run.Status.PLAYING:
            quotas_check(run.owner_id, playing=1)
        run = Run.described().select_for_update(of=("self",)).get(pk=run.pk)
        columns = budget_columns(run.budget.changed(wanted))
        for name, amount in columns.items():
            setattr(run, name, amount)
        if wanted.get(run.stopped_by) is not None:
            run.stopped_by = run.stop_reason = ""
            if play and run.status == Run.Status.PAUSED:
                run.status = Run.Status.PLAYING
        run.save(update_fields=[*columns, "stopped_by", "stop_reason", "status"])
    run_wake(run.pk)
    run_announce(run)
    return run


# No command gives these back: a run that has used them up continues only with a larger budget.
_FINAL = ("events", "time")


def run_transport(
    *,
    run: Run,
    action: str,
    unit: str = "event",
    speed: str = "",
    until_pod: str = "",
    trial: dict[str, Any] | None = None,
) -> Run:
    """Play, pause, or take one step. Raises ApplicationError for what cannot be.

    With *until_pod*, the entity id of a pod, it plays as fast as possible until that pod is bound
    or, by an attempt that began after the newest command, refused. *trial* ({order, node, at,
    outcome}) is the change and its predicted result; a refusal before `at` does not count then.
    A trial with `at` and without a node may be about any object, and plays up to `at`.
    """
    if speed and speed not in Run.Speed.values:
        raise ApplicationError(
            gettext("speed is {speed}; it must be one of {known}").format(
                speed=repr(speed), known=", ".join(Run.Speed.values)
            )
        )
    if run.status == Run.Status.FAILED:
        raise ApplicationError(
            gettext("The run has failed: {error}").format(error=said(run.error)), status=409
        )
    if action in ("play", "step"):
        _check_can_continue(run)
    if action in ("play", "step") and run.stopped_by in _FINAL:
        raise ApplicationError(said(run.stop_reason), status=409)
    with transaction.atomic():
        if action == "play" and run.status != Run.Status.PLAYING:
            # The account before the run, as where runs are made: two locks, in one order.
            quotas_check(run.owner_id, playing=1)
        run = Run.described().select_for_update(of=("self",)).get(pk=run.pk)
        if speed:
            run.speed = speed
        if action != "speed":
            run.until_pod = until_pod if action == "play" else ""
            if run.until_pod and trial is not None:
                run.trial = _trial(run, trial)
            elif run.until_pod:
                run.trial = None
        if action == "play":
            # A finished run that is played again looks whether there is more to do.
            run.status = Run.Status.PLAYING
            run.steps_wanted = 0
            # Whether it is over its budget still, the worker finds out.
            run.stopped_by = run.stop_reason = ""
        elif action == "pause":
            run.status = Run.Status.PAUSED if run.status != Run.Status.FINISHED else run.status
            run.steps_wanted = 0
        elif action == "step":
            if unit not in Run.StepUnit.values:
                raise ApplicationError(
                    gettext("unit is {unit}; it must be event or cycle").format(unit=repr(unit))
                )
            run.status = Run.Status.PAUSED if run.status != Run.Status.FINISHED else run.status
            run.step_unit = unit
            run.stopped_by = run.stop_reason = ""
            run.steps_wanted += 1
        elif action != "speed":
            raise ApplicationError(
                gettext("action is {action}; it must be play, pause, step or speed").format(
                    action=repr(action)
                )
            )
        columns = ["status", "speed", "step_unit", "steps_wanted", "until_pod", "trial"]
        run.save(update_fields=[*columns, "stopped_by", "stop_reason"])
    run_wake(run.pk)
    run_announce(run)
    return run


def _trial(run: Run, promise: dict[str, Any]) -> dict[str, Any]:
    """What is stored of a trial: the prediction, its object, and how long to wait for it."""
    now = max(run.head_at, run.forked_at or 0)
    done = Command.objects.filter(run=run, status=Command.Status.APPLIED)
    since = done.aggregate(newest=Max("outcome_seq"))["newest"]
    at: int | None = promise.get("at")
    return {
        "object": run.until_pod,
        "order": promise.get("order", ""),
        "node": promise.get("node", ""),
        "at": at,
        "outcome": promise.get("outcome", ""),
        "by": now + TRIAL_PATIENCE if at is None else at,
        "since": run.head_seq if since is None else since,
    }


def run_wake(run_id: int) -> None:
    """Have a worker look at the run soon, once this transaction is committed."""
    transaction.on_commit(lambda: _wake(run_id))


def run_announce(run: Run) -> None:
    """Let pages know that the run is not what it was, once this transaction is committed."""
    transaction.on_commit(lambda: publish_head(run.pk, run.head_seq))


def _wake(run_id: int) -> None:
    wake_drivers(run_id)
    registry.enqueue(run_id)


# The parts of a command that hold what is to be stored.
_WRITTEN = ("manifest", "patch")


def command_submit(*, run: Run, body: dict[str, Any]) -> Command:
    """Hand a command to the run's engine. Raises ApplicationError when it is not valid."""
    [marked] = _marked(run, [body])
    command = Command(run=run, **command_prepare(run=run, body=marked))
    command.save(force_insert=True)
    transaction.on_commit(lambda: _wake_for_command(run.pk))
    return command


def commands_submit(*, run: Run, bodies: Sequence[dict[str, Any]]) -> list[Command]:
    """Hand commands to the run's engine, which takes them in this order.

    Raises ApplicationError when one is not valid; then none is handed over.
    """
    commands = [
        Command(run=run, **command_prepare(run=run, body=body)) for body in _marked(run, bodies)
    ]
    Command.objects.bulk_create(commands)
    transaction.on_commit(lambda: _wake_for_command(run.pk))
    return commands


def _marked(run: Run, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Commands with marks at commands of containers that the scenario scripts, and at Jobs."""
    if VERSIONS[run.profile].workloads.tracks_marked_jobs:
        bodies = [with_job_marks(body) for body in bodies]
    given = [{name: one[name] for name in _WRITTEN if name in one} for one in bodies]
    scripts = run_scripts(run.pk) if any(given) else ()
    return [
        {**body, **with_command_marks(parts, scripts)}
        for body, parts in zip(bodies, given, strict=True)
    ]


class CommandColumns(TypedDict):
    """What a command is stored with."""

    body: dict[str, Any]
    verb: str
    object: str


def command_prepare(*, run: Run, body: dict[str, Any]) -> CommandColumns:
    """A command that is ready to be handed to the run's engine, but not stored yet.

    It is to be stored as the engine gets it: without values that must not be stored.
    Raises ApplicationError when it is not valid.
    """
    body = clean_command(body)
    try:
        EngineCommand.from_dict(body)
    except SimError as problem:
        raise ApplicationError(str(problem)) from problem
    _check_can_continue(run)
    target = body.get("object") or _named(body.get("manifest") or {})
    return {"body": body, "verb": body["verb"], "object": target}


def _wake_for_command(run_id: int) -> None:
    """Wake the run's driver; a worker is asked for one only where there is none.

    A driver that is about to leave is followed by another: the worker looks once more afterwards.
    """
    if run_has_worker(run_id):
        wake_drivers(run_id)
    else:
        _wake(run_id)


def run_has_worker(run_id: int) -> bool:
    """Whether a worker has the run at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {leases.held()} FROM runs_run WHERE id = %s", [run_id])
        found = cursor.fetchone()
    return bool(found and found[0])


def rows_ask(run_id: int) -> int | None:
    """Have the rows of the objects of a run written as they are at its newest event, which is returned.

    None where they are, or the run is gone. Raises ApplicationError where no worker can write them.
    """
    found = Run.objects.filter(pk=run_id, rows_seq__isnull=False)
    run = found.only("head_seq", "status", "differs_from", "differs_for").first()
    if run is None:
        return None
    if run.status == Run.Status.FAILED or run.cannot_continue_after is not None:
        raise rows_refusal(run_id)
    # Of many readers one says it.
    a_moment_ago = Now() - timedelta(seconds=1)
    found.exclude(rows_asked_at__gt=a_moment_ago).update(rows_asked_at=Now())
    _wake_for_command(run_id)
    return run.head_seq


def rows_refusal(run_id: int) -> ApplicationError:
    """Why the rows of the objects of a run cannot be read as those of its newest event."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return ApplicationError(gettext("There is no such run any more."), status=404)
    words = gettext(
        "The objects of run {run} are kept as of event {seq}; no worker has brought them to event "
        "{head} so far."
    )
    text = words.format(run=run_id, seq=max(run.rows_seq or 0, 0), head=run.head_seq)
    return ApplicationError(text, status=503, retry_after=1)


def rows_wait(run_id: int, *, seconds: float = ANSWER_SECONDS) -> None:
    """Until the rows of the objects are as of the event that is the newest now, or of a later one.

    Raises ApplicationError where no worker writes them.
    """
    head = rows_ask(run_id)
    if head is None:
        return
    behind = Run.objects.filter(pk=run_id, rows_seq__lt=head)
    for _ in moments(seconds):
        if not behind.exists():
            return
    raise rows_refusal(run_id)


def _named(manifest: dict[str, Any]) -> str:
    """The object of a manifest that was not checked yet: "pod/default/web".

    A kind that is not Kubernetes' own has a definition, if it has any, and the name of such.
    """
    metadata, kind = manifest.get("metadata"), str(manifest.get("kind") or "")
    names: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
    namespace = (names.get("namespace") or "default") if kind in NAMESPACED else ""
    version, group = str(manifest.get("apiVersion") or ""), group_of(manifest)
    is_own = is_known({"kind": kind, "apiVersion": version}) or place_of(NEWEST, version, kind)
    if kind and group and not is_own:
        kind, namespace = kind_in_group(kind, group), names.get("namespace")
    parts = (namespace, names.get("name"))
    return entity_id(kind, "/".join(str(one) for one in parts if one))


def command_wait(*, command: Command, seconds: float = ANSWER_SECONDS) -> Command:
    """The command once the engine has answered, or as it is when the time is up.

    Raises ApplicationError where it is deleted with its run.
    """
    for _ in moments(seconds):
        if command.status != Command.Status.PENDING:
            break
        try:
            command.refresh_from_db()
        except Command.DoesNotExist:
            raise ApplicationError(gone_words(command.run_id), status=404) from None
    return command


def gone_words(run_id: int) -> str:
    """What is told of a run that was deleted."""
    return gettext("Run {number} is gone.").format(number=run_id)


def commands_wait(*, commands: Sequence[Command], seconds: float = ANSWER_SECONDS) -> list[Command]:
    """The commands once the engine has answered all, or as they are when the time is up.

    Those that were deleted with their run are not among them.
    """
    asked = Command.objects.filter(pk__in=[each.pk for each in commands])
    for _ in moments(seconds):
        if not asked.filter(status=Command.Status.PENDING).exists():
            break
    return list(asked.defer("body", "manifest").order_by("pk"))
