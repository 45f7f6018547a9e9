"""Plays what files hold, with progress, and gives each slice to who wants to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.cluster.cluster import Cluster, Slice
from engine.cluster.playing import play
from engine.input.budget import Budget, Stop
from engine.input.scenario import SEEDS, Scenario, parse_duration
from engine.kernel.errors import SimError
from engine.kernel.sentences import say
from engine.kernel.units import SECOND
from engine.run_file.contents import RunFile, TieBreak
from engine.run_file.replaying import Replay, Replayed, cluster_of
from engine.versions.registry import DEFAULT
from kscope.program.asking.reading.sources import Source, now, single_profile
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError
from kscope.program.speech.screen import Screen
from kscope.runs.drive.garbage import GrowthCollector, Memory


@dataclass(slots=True)
class Play:
    """A cluster at its beginning, until when it is played, and within which budget."""

    name: str
    scenario: Scenario
    cluster: Cluster
    until: int
    budget: Budget
    tie_break: TieBreak = "random"
    # The file of a run that is played again, and what came of that.
    file: RunFile | None = None
    replayed: Replayed | None = None
    # What of its budget was used up.
    stop: Stop | None = None
    events: int = 0

    def run(self, screen: Screen, hear: Callable[[Slice], bool]) -> Stop | None:
        """Play it; *hear* gets each slice and says whether to go on. See `play`, and `Replay`."""
        self.cluster.limit(self.budget)
        memory, growth = Memory(), GrowthCollector()

        def heard(taken: Slice) -> bool:
            self.events += len(taken.events)
            screen.progress(self._progress())
            return hear(taken)

        def memory_stop() -> Stop | None:
            growth.look(memory.used)
            if memory.is_over(self.budget.memory) and memory.measure_again() > self.budget.memory:
                return Stop.at(
                    "memory", self.budget.memory, say("It takes {memory}.", memory=memory.text)
                )
            return None

        self.stop = self._played(heard, memory_stop)
        return self.stop

    def _played(
        self, heard: Callable[[Slice], bool], memory_stop: Callable[[], Stop | None]
    ) -> Stop | None:
        if self.file is not None:
            replay = Replay(self.file, self.cluster, heard, memory_stop)
            self.replayed = replay.play(self.budget)
            if self.replayed.stop or self.replayed.parting or not self.replayed.is_whole:
                return self.replayed.stop
        return play(self.cluster, self.until, heard, memory_stop)

    def _progress(self) -> str:
        at, until = self.cluster.now / SECOND, self.until / SECOND
        share = f"  {100 * at / until:.0f} %" if until else ""
        return f"playing {self.name}  {at:.1f} of {until:.1f} s  {self.events:,} events{share}"


def begin(request: Request, source: Source, until: str | None = None) -> Play:
    """The run of files at its beginning. Raises ProgramError where it cannot be made."""
    if source.run_file is not None:
        return _of_run(request, source, source.run_file, until)
    name = source.names[0].rpartition("/")[2].partition(".")[0] or "files"
    scenario = Scenario.from_load(source.loaded, name=name, at=now())
    seed = _seed(request, scenario)
    try:
        cluster = Cluster.create(
            scenario,
            profile=single_profile(request) or scenario.profile or DEFAULT.name,
            seed=seed,
            tie_break=_tie_break(request),
        )
    except (SimError, ValueError) as refusal:
        raise ProgramError(str(refusal)) from refusal
    end = _time(until, "--until") if until else scenario.until
    return Play(
        name,
        replace(scenario, seed=seed),
        cluster,
        end,
        Budget.of(scenario.to_dict()),
        _tie_break(request),
    )


def _tie_break(request: Request) -> TieBreak:
    return "name" if request["tie_break"] == "name" else "random"


def _of_run(request: Request, source: Source, file: RunFile, until: str | None) -> Play:
    """The run of a file, which chooses everything itself. Raises ProgramError."""
    for flag in ("profile", "seed", "tie_break", "nodes"):
        if request[flag]:
            name = flag.replace("_", "-")
            raise ProgramError(
                f"--{name}: {source.words} is a run, and has its own",
                helps=[f"kscope export -o yaml {source.words} - takes its cluster out"],
            )
    try:
        cluster = cluster_of(file)
    except (SimError, ValueError) as refusal:
        raise ProgramError(f"{source.words} cannot be played: {refusal}") from refusal
    end = _time(until, "--until") if until else file.end.at
    budget, name = Budget.of(file.document), Path(source.names[0]).name.partition(".")[0]
    return Play(name, file.scenario, cluster, end, budget, file.choices.tie_break, file)


def _time(text: str, flag: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ProgramError(f"{flag}: {error}", helps=[f"{flag} 30s"]) from error


def _seed(request: Request, scenario: Scenario) -> int:
    given = request["seed"]
    if given is None:
        return scenario.seed
    try:
        seed = int(given)
    except ValueError as error:
        raise ProgramError(f"--seed: {given!r} is not a number") from error
    if seed not in SEEDS:
        raise ProgramError(f"--seed: {seed} is not a 64-bit integer")
    return seed
