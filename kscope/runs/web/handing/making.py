"""Makes an export in an engine process: reads the run, writes the file, says how far it is."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.diagnosis.inside.together import TogetherTrace
from engine.input.scenario import Scenario
from engine.kernel.recorder import GENESIS
from engine.run_file.contents import Choices, End, Recorded, RunFile
from engine.run_file.trail import Trail
from engine.run_file.writing import RunFileWriter
from kscope.exports.encoder import ExportError, Heading
from kscope.exports.manifests import documents, is_written, rank
from kscope.exports.page.insides import Follow
from kscope.exports.page.looks import Looks
from kscope.exports.page.recording import Recording
from kscope.exports.page.waiting import MOST_NODES_TRIED, Waiting
from kscope.exports.registry import FORMATS
from kscope.exports.version import version
from kscope.runs.app_registry import registry
from kscope.runs.contents import document_in_parts, items_of
from kscope.runs.drive.replay import engine_at_head, engine_at_seq, engine_created, replay_refused
from kscope.runs.errors import ApplicationError
from kscope.runs.hidden_values import command_without_hidden, without_hidden
from kscope.runs.manifest_edits import without_managers
from kscope.runs.models import Run
from kscope.runs.models import Scenario as StoredScenario
from kscope.runs.selectors import run_dict
from kscope.runs.web.handing.rows import (
    event_rows,
    extender_answers,
    newest_manifests,
    recorded_commands,
)
from kscope.runs.web.past import log_replayed

_GZIP = 31
_DOCUMENTS = 200
# What is withheld from who may not change the run; see hidden_values.py.
VALUES = "values that may be secret"
CONFIGURATION = "the scheduler's configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written: the format, the last event or None for the newest, the pod, how much.

    With *sees_values* it is for somebody who may change the run.
    """

    format: str
    seq: int | None
    pod: str = ""
    history: bool = False
    sees_values: bool = False
    # Of a page: from which virtual time on it has events, in ns, and what it is to do without.
    since: int = 0
    without: tuple[str, ...] = ()


def export_made(run_id: int, path: str, wanted: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write run *run_id* to the file at *path*; each value says how far it is. *wanted* is a Wanted.

    Raises ApplicationError for what cannot be written.
    """
    asked = Wanted(**{**wanted, "without": tuple(wanted.get("without", ()))})
    form = FORMATS[asked.format]
    # The head does not move while it is written: what comes later is not asked for.
    run = Run.objects.select_related("scenario").get(pk=run_id)
    writes = {
        "run": _run_pieces,
        "objects": _object_pieces,
        "events": _event_pieces,
        "page": _page_pieces,
    }
    packer = zlib.compressobj(wbits=_GZIP) if form.is_packed else None
    try:
        with Path(path).open("wb") as file:
            for done, piece in writes[form.of](run, asked):
                file.write(packer.compress(piece) if packer else piece)
                yield {"done": done}
            file.write(packer.flush() if packer else b"")
    except ExportError as error:
        raise ApplicationError(str(error), status=409) from error


Pieces = Iterator[tuple[int, bytes]]


def _event_pieces(run: Run, asked: Wanted) -> Pieces:
    heading = Heading(
        name=run.name, profile=run.profile, seed=run.seed, ahead=run.ahead or 0, pod=asked.pod
    )
    encoder = FORMATS[asked.format].encoder(heading)
    yield 0, encoder.begin()
    for rows in event_rows(run.pk, run.head_seq if asked.seq is None else asked.seq):
        yield rows[-1].seq, encoder.take(rows)
    yield 0, encoder.end()


# The facts about a run that its pages show; who owns it, and on what it runs, stays here.
_FACTS = (
    *("id", "name", "profile", "feature_gates", "external_scheduler", "external_controllers"),
    *("configured", "seed"),
    *(
        "as_brought",
        "question",
        "select",
        "answer",
        "proof",
        "not_modelled",
        "stop_reason",
        "stopped_by",
    ),
)


def _page_pieces(run: Run, asked: Wanted) -> Pieces:
    recording = Recording(run.name, since=asked.since, without=frozenset(asked.without))
    seq = run.head_seq if asked.seq is None else asked.seq
    yield 0, recording.begin()
    at = 0
    for rows in event_rows(run.pk, seq):
        at = rows[-1].at
        yield rows[-1].seq, recording.events(rows)
    for attempt in registry.attempts_recorded(run.pk, seq, recording.holds_evidence):
        yield seq, recording.attempts([attempt])
    waiting = Waiting(_engine(run, seq))
    whys: dict[str, Any] = {}
    looks: Looks | None = None
    if "why" not in asked.without:
        for entity, answer in waiting.answers():
            whys[entity] = answer
            yield seq, b""
        found = registry.looks(run.pk, MOST_NODES_TRIED)
        looks = Looks(*found) if found else None
        yield seq, b""
    known = run_dict(run)
    facts = {name: known[name] for name in _FACTS}
    if seq < run.head_seq:
        # The answer to its question is of its end.
        facts |= {"answer": "", "proof": None}
    facts |= {
        "status": "finished",
        "speed": "1",
        "head_at": run.head_at if seq == run.head_seq else at,
    }
    followed = recording.follow(waiting.entities, facts["select"] or "")
    yield (
        seq,
        recording.finish(
            facts,
            whys,
            unanswered=waiting.unanswered if "why" not in asked.without else 0,
            written_by=f"kscope {version()}",
            looks=looks,
            inside=_traced(run, seq, followed, recording.base) if followed else None,
        ),
    )


def _traced(run: Run, seq: int, followed: Follow, base: int) -> tuple[Follow, TogetherTrace] | None:
    """The run played again from event *base* to event *seq*, and what was followed in it."""
    made: list[TogetherTrace] = []

    def begin(engine: Cluster) -> None:
        made.append(followed.trace(engine))

    if seq == 0:
        return None
    with replay_refused():
        engine_at_seq(run, seq=seq, start=base, begin=begin)
    return followed, made[0]


def _engine(run: Run, seq: int) -> Cluster:
    """The cluster of a run after an event. Raises ApplicationError."""
    with replay_refused():
        if run.head_seq == 0:
            return engine_created(run)
        return engine_at_head(run) if seq == run.head_seq else engine_at_seq(run, seq=seq)


def _object_pieces(run: Run, asked: Wanted) -> Pieces:
    seq, done = asked.seq, 0
    seq = run.head_seq if seq is None else seq
    # Rows may be those of an earlier event, while the run plays.
    has_rows = seq == run.head_seq and run.rows_seq is None
    found = newest_manifests(run.pk) if has_rows else iter(_manifests_at(run.pk, seq))
    while part := [without_managers(each) for each in islice(found, _DOCUMENTS)]:
        done += len(part)
        yield done, documents(part if asked.sees_values else map(without_hidden, part))


def _manifests_at(run_id: int, seq: int) -> list[dict[str, Any]]:
    """The objects after event *seq*, in the order of newest_manifests()."""
    found = [each for each in log_replayed(run_id, seq).all_at("", seq) if is_written(each["kind"])]
    return sorted(found, key=_order)


def _order(manifest: dict[str, Any]) -> Any:
    return rank(manifest["kind"]), str(manifest["metadata"].get("creationTimestamp") or "")


# -- the run as a file -------------------------------------------------------------------------------


def _run_pieces(run: Run, asked: Wanted) -> Pieces:
    writer, trail = RunFileWriter(), Trail()
    if run.goal_at is not None:
        raise ExportError(
            gettext("The run is being brought to where it begins; export it when it is there.")
        )
    for rows in event_rows(run.pk, run.head_seq):
        trail.take(rows)
        yield rows[-1].seq, writer.events(rows) if asked.history else b""
    if asked.history:
        writer.evidence(registry.attempts_kept(run.pk, run.head_seq))
    for piece in writer.finish(_run_file(run, trail, asked)):
        yield run.head_seq, piece


def _run_file(run: Run, trail: Trail, asked: Wanted) -> RunFile:
    digest = run.head_digest or GENESIS.hex()
    commands = [Recorded(*each) for each in recorded_commands(run)]
    file = RunFile(
        choices=_choices(run),
        document=document_in_parts(run.scenario),
        commands=tuple(commands),
        end=End(run.head_seq, run.head_steps, run.head_at, digest),
        answers=tuple(extender_answers(run.pk, run.head_seq)),
        # Numbers of the database may be written otherwise than the engine wrote them.
        trail=bytes(trail.bytes) if trail.digest == digest else b"",
        has_history=asked.history and run.head_seq > 0,
        written_by=f"kscope {version()}",
    )
    return file if asked.sees_values else _without_secrets(run.scenario, file)


def _choices(run: Run) -> Choices:
    return Choices(
        name=run.name,
        profile=run.profile,
        seed=run.seed,
        tie_break="name" if run.tie_break == "name" else "random",
        feature_gates=run.feature_gates,
        external_scheduler=run.external_scheduler,
        external_controllers=tuple(run.external_controllers),
        configuration=run.configuration,
    )


def _without_secrets(scenario: StoredScenario, file: RunFile) -> RunFile:
    """The file as somebody may have it who may not change the run, and what was left out of it."""
    parts = {name: part for name, part in file.document.items() if isinstance(part, Iterator)}
    header = {name: part for name, part in file.document.items() if name not in parts}
    shown = without_hidden(header)
    commands = tuple(
        replace(each, body=command_without_hidden(each.body)) for each in file.commands
    )
    hides = shown is not header or commands != file.commands or _has_hidden(scenario, parts)
    withheld = [VALUES] if hides else []
    chosen = file.choices
    if chosen.configuration or shown.get("configuration") or shown.get("schedulers"):
        withheld.append(CONFIGURATION)
        chosen = replace(chosen, configuration=None)
        plain = [_without_configuration(each) for each in shown.get("schedulers") or ()]
        shown = {**shown, "configuration": None, "schedulers": plain}
    return replace(
        file,
        choices=chosen,
        document={
            **Scenario.from_dict(shown).to_dict(),
            **{name: map(without_hidden, part) for name, part in parts.items()},
        },
        commands=commands,
        answers=() if CONFIGURATION in withheld else file.answers,
        withheld=tuple(withheld),
    )


def _has_hidden(scenario: StoredScenario, parts: Iterable[str]) -> bool:
    """Whether anything of the large parts is withheld; they are read for it, and once more to be written."""
    items = (each for part in parts for each in items_of(scenario.pk, part))
    return any(without_hidden(each) is not each for each in items)


def _without_configuration(scheduler: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in scheduler.items() if name != "configuration"}
