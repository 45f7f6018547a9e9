"""A cluster that is read by `--context`: how it is opened, what it cost, and what was hidden."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Final

from engine.input.formats.collection import Collection, SeenKind, read_of
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.options import IntakeOptions
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.program.grammar import Request
from kscope.program.live.connection import Connection
from kscope.program.live.files import collection_of, files_of
from kscope.program.live.kinds import kinds_named
from kscope.program.live.kubeconfig import context_named
from kscope.program.live.plans import Wish, whole_plan
from kscope.program.live.reader import Reader
from kscope.program.live.reading import Cluster, Picture
from kscope.program.speech.errors import ProgramError
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, size_words

TIMEOUT_SECONDS: Final = 10.0
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)?")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
# The right to list them is the right to read them, so that kscope does without unless it is given.
_OFTEN_HIDDEN: Final = ("Secret",)


@dataclass(frozen=True, slots=True)
class Live:
    """What was read of a cluster, and what it cost."""

    collection: Collection
    picture: Picture
    requests: int
    bytes: int
    # By the clock of this process.
    read_at: float

    @property
    def summary(self) -> str:
        """For standard error: kinds, objects, requests, size and time."""
        seen, served = read_of(self.collection.kinds)
        return (
            f"{seen} of {counted(served, 'kind')}  {counted(self.picture.objects, 'object')}  "
            f"{counted(self.requests, 'request')}  {size_words(self.bytes)}  {self.picture.seconds:.1f} s"
        )


def cluster_of(request: Request) -> Cluster:
    """The cluster of --context. Raises ProgramError where there is none, or no way in."""
    context = context_named(request["context"], request["kubeconfig"])
    connection = Connection(context, timeout_seconds(request))
    return Cluster(Reader(connection, request["namespace"] or context.namespace or "default"))


def timeout_seconds(request: Request) -> float:
    """Of --request-timeout: "10s", "500ms", or a number of seconds."""
    text = request["request-timeout"]
    if not text:
        return TIMEOUT_SECONDS
    match = _TIME.fullmatch(text)
    found = float(match[1]) * _UNITS[match[2] or "s"] if match else 0.0
    if not found:
        raise ProgramError(
            f"--request-timeout: {text!r} is no time", helps=["--request-timeout 30s"]
        )
    return found


def read_whole(request: Request, screen: Screen, cluster: Cluster) -> Live:
    """Everything that kscope reads, or the kinds of --read."""
    return read_plan(screen, cluster, whole_plan(kinds_named(request["read"] or "")), "")


def read_plan(screen: Screen, cluster: Cluster, plan: list[Wish], asked: str) -> Live:
    """Read a plan, for a whole cluster or for the object that is *asked* about."""
    name = cluster.connection.context.name

    def tell(number: int, of: int, objects: int) -> None:
        screen.progress(f"reading {name}  {number} of {of} lists  {objects:,} objects")

    tell(0, len(plan), 0)
    picture = cluster.picture(plan, tell)
    traffic = cluster.connection.traffic
    collection = collection_of(cluster, picture, asked)
    return Live(collection, picture, traffic.requests, traffic.bytes, time.monotonic())


def loaded_of(live: Live, nodes: str) -> LoadResult:
    """What was read as the loader has it, with the nodes of --nodes. Raises OptionFault."""
    options = IntakeOptions.read({"nodes": nodes, "watch": "newest"})
    files = files_of(live.collection, live.picture)
    return load_files(files, check=check_setup, options=options)


# -- what could not be seen ---------------------------------------------------------------------------


def missing_of(collection: Collection) -> tuple[SeenKind, ...]:
    """The kinds whose absence may change an answer."""
    return tuple(each for each in collection.unseen if each.kind not in _OFTEN_HIDDEN)


def say_what_was_hidden(screen: Screen, collection: Collection, effect: str) -> None:
    """A warning with what may not be listed, what follows, and the rights to ask for."""
    missing = missing_of(collection)
    if not missing:
        return
    names = [each.resource for each in missing]
    user = f"{collection.user}, " if collection.user else ""
    screen.warning(
        f"you may not list {', '.join(names)} in context {collection.context}",
        [
            ("as", f"{user}namespace {collection.namespace}"),
            ("effect", effect or effect_of(missing)),
            ("help", f"ask for these rights: kscope rbac --read {','.join(names)}"),
        ],
    )


def effect_of(missing: tuple[SeenKind, ...]) -> str:
    """What follows for an answer when these kinds were not seen."""
    kinds = {each.kind for each in missing}
    if "Node" in kinds:
        return "the model cannot decide: without nodes there is no place to try"
    if "Pod" in kinds:
        return "the model does not know who holds the room on the nodes"
    return f"not known: {'; '.join(dict.fromkeys(each.tells for each in missing if each.tells))}"
