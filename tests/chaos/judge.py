"""What a run's record must be: that of the same commands at the same positions, undisturbed."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario
from engine.kernel.stepwise import finished
from kscope.runs.contents import items_in
from kscope.runs.drive.replay import going_to
from kscope.runs.manifests.packed import (
    DICTIONARY,
    UnknownDictionary,
    dictionary_note,
    text_of,
)
from kscope.runs.models import Run
from tests.chaos.tree import Tree

_EVENTS = (
    "SELECT seq, at, kind, object, component, cause, message, data::text, changes::text"
    " FROM runs_runevent WHERE run_id = %s ORDER BY seq"
)
_TABLES = {
    "pod": "scheduling_pod",
    "node": "scheduling_node",
    "claim": "volumes_persistentvolumeclaim",
    "volume": "volumes_persistentvolume",
}


@dataclass(slots=True)
class Evidence:
    """What the clients of a run were told."""

    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Each acknowledged command as it was answered last, by its id."""
    unanswered: int = 0
    """Commands whose request broke off: they may have been carried out, once."""
    seqs: list[int] = field(default_factory=list)
    """Of the events that the stream has brought since its last snapshot."""


def judge(tree: Tree, run_id: int, evidence: Evidence) -> list[str]:
    """Everything that is wrong with the run; nothing when all is well."""
    found = _Judge(tree, run_id, evidence)
    found.judge_commands()
    found.judge_history()
    found.judge_stream()
    return found.wrong


class _Judge:
    def __init__(self, tree: Tree, run_id: int, evidence: Evidence) -> None:
        self.ask = tree.ask
        self.run_id = run_id
        self.evidence = evidence
        self.wrong: list[str] = []
        self.commands = self.ask(
            "SELECT id, body::text, status, ordinal, position, at, outcome_seq FROM runs_command"
            " WHERE run_id = %s ORDER BY ordinal NULLS LAST, id",
            run_id,
        )
        self.run = self._run()

    def _run(self) -> Run:
        columns = (
            "profile, seed, tie_break, status, error, head_seq, head_at, head_steps, head_digest"
        )
        (row,) = self.ask(f"SELECT {columns} FROM runs_run WHERE id = %s", self.run_id)  # type: ignore[arg-type]
        return Run(pk=self.run_id, **dict(zip(columns.split(", "), row, strict=True)))

    def _text(self, stored: bytes) -> bytes:
        try:
            return text_of(stored)
        except UnknownDictionary as unknown:
            ((digest, content),) = self.ask(DICTIONARY, unknown.digest)
            dictionary_note(digest, content)
        return text_of(stored)

    def _created(self) -> Cluster:
        """The cluster at the beginning of the run."""
        ((scenario, header),) = self.ask(
            "SELECT s.id, s.header::text FROM runs_run r JOIN runs_scenario s"
            " ON s.id = r.scenario_id WHERE r.id = %s",
            self.run_id,
        )
        parts: dict[str, Any] = orjson.loads(header)
        pieces = self.ask(
            "SELECT part, lines FROM runs_scenariopiece WHERE scenario_id = %s ORDER BY part, place",
            scenario,
        )
        for part, lines in pieces:
            parts.setdefault(part, []).extend(items_in(lines))
        return Cluster.create(
            Scenario.from_dict(parts),
            profile=self.run.profile,
            seed=self.run.seed,
            tie_break="name" if self.run.tie_break == "name" else "random",
        )

    def expect(self, holds: bool, otherwise: str) -> None:
        """Note down what is wrong."""
        if not holds:
            self.wrong.append(f"run {self.run_id}: {otherwise}")

    def judge_commands(self) -> None:
        """Each acknowledged command is carried out once, and as was said."""
        recorded = {row[0]: row for row in self.commands}
        pending = [row[0] for row in self.commands if row[2] == "pending"]
        self.expect(not pending, f"commands {pending} are still pending")
        ordinals = [row[3] for row in self.commands]
        self.expect(ordinals == list(range(1, len(ordinals) + 1)), f"ordinals are {ordinals}")
        for number, answer in self.evidence.answers.items():
            row = recorded.get(number)
            self.expect(row is not None, f"acknowledged command {number} is lost")
            if row is not None and answer["status"] != "pending":
                told, kept = (answer["status"], answer["seq"]), (row[2], row[6])
                self.expect(told == kept, f"command {number}: told {told}, recorded {kept}")
        most = len(self.evidence.answers) + self.evidence.unanswered
        self.expect(
            len(recorded) <= most, f"{len(recorded)} commands are recorded, {most} were sent"
        )

    def judge_history(self) -> None:
        """Events, objects and attempts are those of an engine that nothing has disturbed."""
        run = self.run
        self.expect(run.status == Run.Status.FINISHED, f"is {run.status}: {run.error}")
        engine = self._created()
        for _, body, _, _, position, at, _ in self.commands:
            finished(going_to(engine, steps=position, at=at))
            engine.apply(Command.from_dict(orjson.loads(body)))
        finished(going_to(engine, steps=run.head_steps, at=run.head_at))
        piece = engine.take()
        self.expect(engine.digest() == run.head_digest, "the digest differs")
        recorded = self.ask(_EVENTS, self.run_id)
        seqs = [row[0] for row in recorded]
        self.expect(seqs == list(range(1, run.head_seq + 1)), "there is a gap in the events")
        wanted = [_plain(row) for row in piece.rows]
        self.expect([_plain(row) for row in recorded] == wanted, "the events differ")
        for prefix, table in _TABLES.items():
            rows = self.ask(
                f"SELECT key, manifest FROM {table} WHERE run_id = %s ORDER BY key",  # type: ignore[arg-type]
                self.run_id,
            )
            kept = {f"{prefix}/{key}": orjson.loads(self._text(stored)) for key, stored in rows}
            live = {
                obj.id: orjson.loads(orjson.dumps(obj.raw))
                for kind in engine.store.kinds()
                for obj in engine.store.objects(kind)
                if obj.id.startswith(f"{prefix}/")
            }
            self.expect(kept == live, f"the rows of {table} differ")
        attempts = self.ask(
            "SELECT pod, number, seq FROM scheduling_schedulingattempt WHERE run_id = %s",
            self.run_id,
        )
        made = [(each.pod, each.number, each.seq) for each in piece.attempts]
        self.expect(sorted(attempts) == sorted(made), "the attempts differ")
        self.wrong += [f"run {self.run_id}: {finding}" for finding in cluster_findings(engine)]

    def judge_stream(self) -> None:
        """A reader that comes back whenever it is cut off misses nothing and sees nothing twice."""
        seqs = self.evidence.seqs
        if seqs:
            wanted = list(range(seqs[0], self.run.head_seq + 1))
            self.expect(seqs == wanted, f"the stream brought {_gist(seqs)}")


def _plain(row: Any) -> tuple[Any, ...]:
    seq, at, kind, entity, component, cause, message, data, changes = row
    return (seq, at, kind, entity, component, cause, message, _value(data), _value(changes))


def _value(text: Any) -> Any:
    return orjson.loads(text) if isinstance(text, str | bytes) else text


def _gist(seqs: list[int]) -> str:
    breaks = [f"{a}…{b}" for a, b in zip(seqs, seqs[1:], strict=False) if b != a + 1]
    return f"{seqs[0]} to {seqs[-1]}, with {breaks[:5]}"
