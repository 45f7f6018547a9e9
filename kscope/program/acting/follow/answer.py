"""`kscope follow`: a line for each decision of the cluster's scheduler, with kscope's beside it."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import signal
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from engine.input.options import SelectorFault, parse_selector
from engine.kernel.errors import SimError
from engine.objects.objects import Manifest, Pod
from engine.objects.selectors import Requirement
from kscope.program.acting.collect import pack
from kscope.program.acting.follow.mirror import Mirror
from kscope.program.acting.follow.run import FollowingRun, begin_run
from kscope.program.acting.follow.verdicts import (
    ALIKE,
    OTHER,
    TIE,
    Verdict,
    placed,
    refusal_of,
    waits,
)
from kscope.program.acting.follow.watching import Change, Lost, News, Relisted, Watcher
from kscope.program.grammar import Request
from kscope.program.live.files import collection_of, files_of
from kscope.program.live.kinds import KINDS, ReadKind, kinds_named
from kscope.program.live.plans import whole_plan
from kscope.program.live.reading import Cluster
from kscope.program.live.whole import Live, cluster_of, loaded_of, read_plan, say_what_was_hidden
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import document, json_lines
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted

# Leases and Events change all the time, and no place of a pod depends on them; nor on names of Secrets.
_ASIDE: Final = ("Lease", "Event", "Secret", "ConfigMap", "ServiceAccount", "APIService")
_COLUMNS: Final = (("TIME", 10), ("STATE", 8), ("POD", 24), ("KSCOPE", 32), ("SCHEDULER", 32))
_LOOK_SECONDS: Final = 0.25
_TOGETHER_SECONDS: Final = 0.4
_CLOCK: Final = "%H:%M:%S"


def answer_follow(request: Request, screen: Screen) -> int:
    """Follow until Ctrl-C, which ends it well."""
    if not request["context"]:
        raise ProgramError("no cluster was named", helps=["kscope follow --context NAME"])
    if request.words:
        raise ProgramError(f"follow takes no {request.words[0]}", helps=["kscope follow --help"])
    try:
        following = _begin(request, screen)
    except KeyboardInterrupt:  # before there was anything to follow
        return Status.FINE
    with _signals(following):
        try:
            following.go_on()
        except KeyboardInterrupt:
            following.end()
    return Status.FINE


def _begin(request: Request, screen: Screen) -> Following:
    cluster = cluster_of(request)
    chosen = Chosen.of(request, cluster.reader.namespace)
    named = kinds_named(request["read"] or "")
    kinds = [each for each in named or KINDS if each.kind not in _ASIDE]
    live = read_plan(screen, cluster, whole_plan(kinds), "")
    effect = "what they decide is not known, and verdicts may differ for that"
    say_what_was_hidden(screen, live.collection, effect)
    loaded = loaded_of(live, "")
    if not loaded.ok:
        raise ProgramError(f"the cluster cannot be mirrored: {loaded.problems[0]}")
    try:
        mirror = Mirror.of(loaded, (request["profile"] or [None])[0])
    except (SimError, ValueError) as refusal:
        raise ProgramError(f"the cluster cannot be mirrored: {refusal}") from refusal
    run, why_none = begin_run(request, live.collection.context, archive_of(live))
    found = Following(request, screen, cluster, live, mirror, run, chosen, why_none)
    found.begin()
    return found


def archive_of(live: Live) -> bytes:
    """What was read, as `kscope collect` writes it."""
    packed = io.BytesIO()
    pack(packed, files_of(live.collection, live.picture), live.collection.read_at)
    return packed.getvalue()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pods that are told of: those of a namespace, and with labels."""

    namespace: str
    selector: tuple[Requirement, ...]

    @classmethod
    def of(cls, request: Request, own: str) -> Chosen:
        """Those of -n, -A and -l; without -n and -A those of the context's *own* namespace."""
        try:
            selector = parse_selector(request["selector"] or "")
        except SelectorFault as fault:
            message = f"{fault.part!r} is no label selector"
            raise ProgramError(message, helps=["app=web or 'tier in (a,b)'"]) from fault
        return cls("" if request["all-namespaces"] else request["namespace"] or own, selector)

    def admits(self, pod: Pod) -> bool:
        """Whether a pod is told of."""
        if self.namespace and pod.namespace != self.namespace:
            return False
        return all(each.matches(pod.labels) for each in self.selector)

    def name_of(self, key: str) -> str:
        """A pod for the table: without its namespace where all are of one."""
        return key.partition("/")[2] if self.namespace else key


@dataclass(slots=True)
class Following:
    """The mirror, the watches that feed it, and what was said so far."""

    request: Request
    screen: Screen
    cluster: Cluster
    live: Live
    mirror: Mirror
    run: FollowingRun | None
    chosen: Chosen
    # Why there is no run.
    why_none: str = ""
    news: queue.Queue[News] = field(default_factory=queue.Queue)
    counts: Counter[str] = field(default_factory=Counter[str])
    wants_fork: bool = False
    # The objects as they came, for forks.
    _held: dict[ReadKind, dict[str, Manifest]] = field(
        default_factory=dict[ReadKind, dict[str, Manifest]]
    )
    _began: str = ""

    # -- the beginning ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Say what was read, tell of the pods that wait, and watch."""
        self._began = time.strftime(_CLOCK, time.gmtime())
        for each in self.live.picture.lists:
            self._held[each.kind] = {_key(one): one for one in each.items}
        self._say_what_is_in_step()
        if not self.request.output:
            self.screen.write(
                "".join(name.ljust(width) for name, width in _COLUMNS).rstrip() + "\n"
            )
        for pod in list(self.mirror.pods_that_wait()):
            if self.chosen.admits(pod):
                self._tell(waits(pod, refusal_of(pod), self.mirror.decision(pod)), is_new=False)
        for each in self.live.picture.lists:
            if each.sight in ("all", "namespace"):
                versions = self.cluster.served.versions_of(each.kind)
                Watcher(self.cluster.reader, versions, each, self.news.put).start()

    def _say_what_is_in_step(self) -> None:
        context, store = self.live.collection.context, self.mirror.cluster.store
        nodes, pods = len(store.objects("Node")), len(store.objects("Pod"))
        what = f"read {context} at {self._began}: {counted(nodes, 'node')}, {counted(pods, 'pod')}"
        if self.run is not None:
            self.screen.did(f"{what}; run {self.run.number} is in step: {self.run.address}")
            return
        self.screen.did(what)
        self.screen.note(f"no run is kept in step with a kscope: {self.why_none}")

    # -- what comes -------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Take over what comes, until it is interrupted or nobody reads."""
        while not self.screen.reader_is_gone:
            for news in self._some_news():
                self._hear(news)
            if self.wants_fork:
                self.wants_fork = False
                self.fork()

    def _some_news(self) -> list[News]:
        """What has come, in the order of the cluster; none after a short while.

        Each kind comes by a line of its own. What comes at about the same time is put in the order of
        its writes, which the versions tell. Upstream: KEP-5504, comparable resource versions.
        """
        found: list[News] = []
        with contextlib.suppress(queue.Empty):
            found.append(self.news.get(timeout=_LOOK_SECONDS))
            until = time.monotonic() + _TOGETHER_SECONDS
            while (left := until - time.monotonic()) > 0:
                found.append(self.news.get(timeout=left))
        return sorted(found, key=_version)

    def _hear(self, news: News) -> None:
        if isinstance(news, Lost):
            self._lost(news)
        elif isinstance(news, Relisted):
            self._relisted(news)
        else:
            self._changed(news)
        commands = self.mirror.taken()
        if self.run is not None:
            self.run.do(commands)

    def _lost(self, lost: Lost) -> None:
        text = f"the watch of {lost.kind.title} ended: {lost.why}; read again in {lost.seconds:g} s"
        if self.request.output:
            self.screen.note(text)
        else:
            self._line("lost", text)

    def _relisted(self, news: Relisted) -> None:
        kind = news.listed.kind
        there = {_key(each): each for each in news.listed.items}
        for key in [key for key in self._held.get(kind, {}) if key not in there]:
            self._changed(Change(kind, self._held[kind][key], is_gone=True))
        for each in there.values():
            self._changed(Change(kind, each))

    def _changed(self, change: Change) -> None:
        kind, key = change.kind, _key(change.manifest)
        if change.is_gone:
            self._held.setdefault(kind, {}).pop(key, None)
            self.mirror.remove(kind.kind, key)
            return
        typed = {**change.manifest, "kind": kind.kind}
        typed.setdefault("apiVersion", kind.api_version(kind.versions[0]))
        self._held.setdefault(kind, {})[key] = typed
        if kind.kind == Pod.KIND:
            self._pod(key, typed)
        else:
            self.mirror.put(typed)

    def _pod(self, key: str, manifest: Manifest) -> None:
        """Decide before the decision of the cluster is taken over, and tell of both."""
        before = self.mirror.pod(key)
        if before is not None and before.uid != manifest["metadata"].get("uid"):
            before = None
        node = str((manifest.get("spec") or {}).get("nodeName") or "")
        verdict = None
        if before is not None and node and not before.node_name and self.chosen.admits(before):
            verdict = placed(before, node, self.mirror.decision(before))
        self.mirror.put(manifest)
        now = self.mirror.pod(key)
        if now is not None and not node and self.chosen.admits(now):
            message = refusal_of(now)
            if message and (before is None or refusal_of(before) != message):
                verdict = waits(now, message, self.mirror.decision(now))
        if verdict is not None:
            self._tell(verdict, is_new=True)

    # -- what is told -----------------------------------------------------------------------------

    def _tell(self, verdict: Verdict, *, is_new: bool) -> None:
        if is_new:
            self.counts[verdict.sign] += 1
        if self.request.output in ("ndjson", "json"):
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            self.screen.write(json_lines([document("Decision", at=at, **verdict.fields())]))
            return
        cells = [self.chosen.name_of(verdict.pod), verdict.kscope, verdict.scheduler]
        widths = [width for _, width in _COLUMNS[2:]]
        text = "  ".join(cell.ljust(width - 2) for cell, width in zip(cells, widths, strict=True))
        score = (
            f"  score {verdict.score}" if self.request.output == "wide" and verdict.score else ""
        )
        self._line(verdict.state, f"{text}  {verdict.sign}{score}")

    def _line(self, state: str, text: str) -> None:
        paper = self.screen.paper()
        paper.line(f"{time.strftime(_CLOCK, time.gmtime()):<10}{state:<8}{text}")
        self.screen.show(paper)

    # -- the fork, and the end --------------------------------------------------------------------

    def fork(self) -> None:
        """Write the cluster at this instant as a scenario."""
        name = self.request["fork"] or time.strftime(
            f"{self.live.collection.context}-%H%M%S.tar.gz", time.gmtime()
        )
        lists = tuple(
            replace(each, items=list(self._held.get(each.kind, {}).values()))
            for each in self.live.picture.lists
        )
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        picture = replace(self.live.picture, lists=lists, read_at=now)
        live = replace(self.live, picture=picture, collection=collection_of(self.cluster, picture))
        try:
            Path(name).write_bytes(archive_of(live))
        except OSError as problem:
            self.screen.warning(f"{name} cannot be written: {problem.strerror}")
            return
        self.screen.did(f"forked at {now[11:]}: kscope simulate {name}")

    def end(self) -> None:
        """Say what was decided, and what is kept."""
        if self.run is not None:
            self.run.finish()
        number = sum(self.counts.values())
        parts = [
            f"{self.counts[sign]} {words}"
            for sign, words in (
                (ALIKE, "alike"),
                (TIE, "another node of a tie"),
                (OTHER, "otherwise"),
            )
            if self.counts[sign]
        ]
        told = f": {', '.join(parts)}" if parts else ""
        kept = f" Run {self.run.number} is kept." if self.run is not None else ""
        self.screen.did(f"{counted(number, 'pod')} decided since {self._began}{told}.{kept}")
        self._say_what_was_refused()
        waiting = next(
            (pod for pod in self.mirror.pods_that_wait() if self.chosen.admits(pod)), None
        )
        if waiting is not None:
            context = self.live.collection.context
            self.screen.did(
                f"{'next':<11}kscope why --context {context} pod/{waiting.name} -n {waiting.namespace}"
            )

    def _say_what_was_refused(self) -> None:
        if self.mirror.refused:
            number, first = len(self.mirror.refused), self.mirror.refused[0]
            self.screen.warning(f"{counted(number, 'change')} could not be taken over: {first}")
        if self.run is not None and (self.run.refused or self.run.lost):
            what = self.run.lost or f"it refused {counted(self.run.refused, 'command')}"
            self.screen.warning(f"run {self.run.number} is not in step any more: {what}")


class _signals:
    """While this lasts, SIGUSR1 asks for a fork, where there are such signals."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._before: Any = None

    def __enter__(self) -> None:
        if not hasattr(signal, "SIGUSR1"):
            return
        self._before = signal.signal(signal.SIGUSR1, self._asked)
        self._following.screen.note(f"to fork at an instant: kill -USR1 {os.getpid()}")

    def _asked(self, *_: Any) -> None:
        self._following.wants_fork = True

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "SIGUSR1"):
            signal.signal(signal.SIGUSR1, self._before)


def _version(news: News) -> int:
    """The number of the write that it tells of; a line that was lost is told at once."""
    if isinstance(news, Lost):
        return -1
    if isinstance(news, Relisted):
        text = news.listed.version
    else:
        text = str(news.manifest["metadata"].get("resourceVersion") or "")
    return int(text) if text.isdecimal() else -1


def _key(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
