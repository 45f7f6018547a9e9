"""Exports what files hold: played here, and written while it is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from engine.cluster.cluster import Cluster, Slice
from engine.diagnosis.inside.together import TogetherTrace
from engine.diagnosis.observed.evidence import Evidence
from engine.input.scenario import parse_duration
from engine.kernel.garbage import collector_paused
from engine.kernel.units import SECOND
from kscope.exports.encoder import Heading
from kscope.exports.manifests import documents, is_written, rank
from kscope.exports.page.insides import Follow
from kscope.exports.page.looks import Looks, looks_at
from kscope.exports.page.recording import Recording
from kscope.exports.page.waiting import Waiting
from kscope.program.asking.play.output import Output
from kscope.program.asking.play.play import Play, begin
from kscope.program.asking.play.replayed import say_replayed
from kscope.program.asking.play.saving import Saver, evidence_of, said_of
from kscope.program.asking.reading.kinds import Named
from kscope.program.asking.reading.sources import Source
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, first_small
from kscope.program.version import version
from kscope.runs.web.upload_report import stored_report
from scheduling.process_forks import forks_of


def export_played(
    request: Request, screen: Screen, source: Source, pod: Named | None, output: Output
) -> tuple[str, int]:
    """Play and write; what was written in words, and the status."""
    with collector_paused():
        play = begin(request, source, _until(request))
        if output.format.of == "page":
            said = _page(request, screen, source, play, output)
        else:
            writes = {"run": _run, "objects": _objects, "events": _events}
            said = writes[output.format.of](request, screen, play, pod, output)
    status = say_replayed(play, source.words, screen)
    return said, max(status, _ended_early(play, screen))


def _until(request: Request) -> str | None:
    at: str | None = request["at"]
    if at is None:
        return request["until"]
    try:
        parse_duration(at)
    except ValueError as error:
        raise ProgramError(f"--at: {error}", helps=["--at 30s"]) from error
    return at


def _ended_early(play: Play, screen: Screen) -> int:
    if play.cluster.failure:
        screen.warning(f"the run has ended: {play.cluster.failure}")
        return Status.UNSEEN
    if play.stop is not None:
        screen.warning(f"{first_small(play.stop.reason)} The rest was not played.")
        return Status.UNSEEN
    return Status.FINE


def _run(request: Request, screen: Screen, play: Play, pod: Named | None, output: Output) -> str:
    saver = Saver(cast("Any", output), history=bool(request["history"]))

    def hear(taken: Slice) -> bool:
        saver.hear(taken)
        return output.is_read

    play.run(screen, hear)
    return said_of(saver.finish(play))


def _events(request: Request, screen: Screen, play: Play, pod: Named | None, output: Output) -> str:
    encoder = output.format.encoder(heading_of(play, _pod_id(request, pod)))
    output.write(encoder.begin())

    def hear(taken: Slice) -> bool:
        output.write(encoder.take(taken.rows))
        return output.is_read

    play.run(screen, hear)
    output.write(encoder.end())
    return counted(play.cluster.seq, "event")


def _page(request: Request, screen: Screen, source: Source, play: Play, output: Output) -> str:
    without = frozenset(request["without"] or ())
    recording = Recording(play.scenario.name, since=_since(request), without=without)
    output.write(recording.begin())

    def hear(taken: Slice) -> bool:
        output.write(recording.events(taken.rows))
        output.write(recording.attempts(evidence_of(taken, in_all=True)))
        return output.is_read

    play.run(screen, hear)
    waiting = Waiting(play.cluster, forks_of)
    whys: dict[str, Any] = {}
    if "why" not in without:
        for entity, answer in waiting.answers():
            screen.progress(f"asking why {entity.partition('/')[2]} waits")
            whys[entity] = answer
    facts = _facts(play)
    followed = recording.follow(waiting.entities, facts["select"])
    again = _Again(request, screen, source)
    output.write(
        recording.finish(
            facts,
            whys,
            unanswered=waiting.unanswered,
            written_by=f"kscope {version()}",
            looks=again.looks() if "why" not in without else None,
            inside=again.traced(followed, play, output) if followed else None,
        )
    )
    pods = sum(entity.startswith("pod/") for entity in whys)
    waits = "waits" if pods == 1 else "wait"
    told = f", answers for {counted(pods, 'pod')} that {waits} at the end" if pods else ""
    return f"{counted(recording.held, 'event')}{told}; plays offline"


class _Again:
    """The run that is exported, made a second time from its files."""

    def __init__(self, request: Request, screen: Screen, source: Source) -> None:
        self._screen, self._source = screen, source
        self._play = begin(request, source, _until(request))

    def looks(self) -> Looks | None:
        """What stands at its beginning."""
        self._screen.progress("looking at what stands at the beginning")
        source, play = self._source, self._play
        if source.run_file is None:
            evidence = Evidence.of(source.loaded)
            report = _without_folders(source.loaded.to_report(), source.names)
        else:
            # How its files were read, and what a run does not hold of them, is in no run file.
            evidence, report = Evidence(play.scenario.objects), None
        return looks_at(play.cluster, play.scenario, evidence, stored_report(report))

    def traced(
        self, followed: Follow, first: Play, output: Output
    ) -> tuple[Follow, TogetherTrace] | None:
        """Play it as the *first* time, and follow; None where that came to another end."""
        play = self._play
        trace = followed.trace(play.cluster)
        play.name = f"{play.name} again"
        play.run(self._screen, lambda _: output.is_read)
        return (followed, trace) if play.cluster.digest() == first.cluster.digest() else None


def _without_folders(told: Any, names: Iterable[str]) -> Any:
    """A report in which no text has the folders of the files: who opens a page has others."""
    folders = sorted({f"{Path(name).parent}/" for name in names} - {"./"}, key=len, reverse=True)

    def plain(part: Any) -> Any:
        if isinstance(part, dict):
            return {plain(name): plain(each) for name, each in cast("dict[str, Any]", part).items()}
        if isinstance(part, list):
            return [plain(each) for each in cast("list[Any]", part)]
        if isinstance(part, str):
            for folder in folders:
                part = part.replace(folder, "")
        return part

    return plain(told)


def _since(request: Request) -> int:
    text: str | None = request["since"]
    if text is None:
        return 0
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ProgramError(f"--since: {error}", helps=["--since 30s"]) from error


def _facts(play: Play) -> dict[str, Any]:
    """The facts about a run that was played here, as its pages get them."""
    scenario, cluster = play.scenario, play.cluster
    chosen = play.file.choices if play.file is not None else scenario
    told: Mapping[str, Any] = scenario.told if play.file is None else {}
    of = {
        "profile": cluster.profile,
        "seed": scenario.seed,
        "feature_gates": dict(scenario.feature_gates),
    }
    is_told = told.get("of") == of
    return {
        "id": 0,
        "name": scenario.title or scenario.name,
        "profile": cluster.profile,
        "seed": chosen.seed,
        "feature_gates": dict(chosen.feature_gates),
        "status": "finished",
        "speed": "1",
        "head_at": cluster.now,
        "question": scenario.question,
        "select": told.get("select", ""),
        "as_brought": scenario.stands,
        "answer": told.get("answer", "") if is_told else "",
        "proof": told.get("proof") if is_told else None,
        "not_modelled": [dict(each) for each in scenario.not_modelled],
    }


def _objects(
    request: Request, screen: Screen, play: Play, pod: Named | None, output: Output
) -> str:
    play.run(screen, lambda _: output.is_read)
    count = 0
    for each in manifests_in_order(play.cluster):
        output.write(documents([each]))
        count += 1
    return f"{counted(count, 'object')} at {play.cluster.now / SECOND:.1f} s"


def manifests_in_order(cluster: Cluster) -> list[dict[str, Any]]:
    """The objects of a cluster, in the order in which they need each other."""
    store = cluster.store
    kinds = sorted(filter(is_written, store.kinds()), key=rank)
    return [obj.raw for kind in kinds for obj in store.objects(kind)]


def heading_of(play: Play, pod: str = "") -> Heading:
    """What an encoder is told of a run."""
    scenario = play.scenario
    return Heading(
        name=scenario.name,
        profile=play.cluster.profile,
        seed=scenario.seed,
        ahead=scenario.ahead,
        pod=pod,
    )


def _pod_id(request: Request, pod: Named | None) -> str:
    if pod is None:
        return ""
    namespace = pod.namespace or request["namespace"] or "default"
    return f"pod/{namespace}/{pod.own_name}"
