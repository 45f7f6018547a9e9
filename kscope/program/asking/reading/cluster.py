"""Reads a cluster itself, by `--context`: what a question needs of it, as if it were files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from engine.input.formats.collection import Collection, SeenKind, read_of
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.options import IntakeOptions
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.program.asking.reading.kinds import KIND_OF_WORD, Named
from kscope.program.grammar import Request
from kscope.program.live.connection import Connection
from kscope.program.live.files import collection_of, files_of
from kscope.program.live.kinds import KINDS, ReadKind, kinds_named
from kscope.program.live.kubeconfig import context_named
from kscope.program.live.plans import Wish, plan_of, whole_plan
from kscope.program.live.reader import Manifest, Reader
from kscope.program.live.reading import Cluster, Picture, told
from kscope.program.speech.errors import ProgramError, similar, similar_help
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, several, size_words

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
        raise ProgramError(f"--request-timeout: {text!r} is no time", helps=["--request-timeout 30s"])
    return found


def read_whole(request: Request, screen: Screen, cluster: Cluster) -> Live:
    """Everything that kscope reads, or the kinds of --read."""
    return _read(screen, cluster, whole_plan(kinds_named(request["read"] or "")), "")


def read_about(request: Request, screen: Screen, cluster: Cluster, named: Named) -> Live:
    """What concerns one object. Raises ProgramError where it is not there."""
    own, manifest = _object(request, cluster, named)
    plan = plan_of(manifest, own)
    only = kinds_named(request["read"] or "")
    plan = [each for each in plan if not only or each.kind in (*only, own)]
    namespace = manifest["metadata"].get("namespace")
    key = f"{namespace}/{named.own_name}" if namespace else named.own_name
    return _read(screen, cluster, plan, f"{own.kind.lower()}/{key}")


def _read(screen: Screen, cluster: Cluster, plan: list[Wish], asked: str) -> Live:
    name = cluster.connection.context.name

    def tell(number: int, of: int, objects: int) -> None:
        screen.progress(f"reading {name}  {number} of {of} lists  {objects:,} objects")

    tell(0, len(plan), 0)
    picture = cluster.picture(plan, tell)
    traffic = cluster.connection.traffic
    collection = collection_of(cluster, picture, asked)
    return Live(collection, picture, traffic.requests, traffic.bytes)


def loaded_of(live: Live, nodes: str) -> LoadResult:
    """What was read as the loader has it, with the nodes of --nodes. Raises OptionFault."""
    options = IntakeOptions.read({"nodes": nodes, "watch": "newest"})
    files = files_of(live.collection, live.picture)
    return load_files(files, check=check_setup, options=options)


# -- the object that is asked about -------------------------------------------------------------------


def _object(request: Request, cluster: Cluster, named: Named) -> tuple[ReadKind, Manifest]:
    """The kind and the object that somebody means."""
    kind = _kind_of(cluster, named.word)
    context = cluster.connection.context
    versions = cluster.served.versions_of(kind)
    if not versions:
        raise ProgramError(f"context {context.name} serves no {kind.resource}")
    namespace = _namespace(request, cluster, named) if kind.namespaced else ""
    with told(cluster.connection):
        if kind.namespaced and request["all-namespaces"]:
            return kind, _anywhere(cluster, kind, versions, named)
        found = cluster.reader.one(kind, versions[0], namespace, named.own_name)
    if found is None:
        raise _absent(cluster, kind, namespace, named)
    return kind, found


def _namespace(request: Request, cluster: Cluster, named: Named) -> str:
    return named.namespace or request["namespace"] or cluster.connection.context.namespace or "default"


def _kind_of(cluster: Cluster, word: str) -> ReadKind:
    """Of those that kscope reads, else of those that the cluster serves. Raises ProgramError."""
    kind = KIND_OF_WORD.get(word.lower(), word)
    known = next((each for each in KINDS if kind.lower() in _words(each)), None)
    found = known or cluster.served.kind_called(word)
    if found is None:
        names = (*KIND_OF_WORD, *(each.resource for each in KINDS))
        raise ProgramError(
            f"no kind is called {word}", helps=similar_help("kind", word.lower(), names)
        )
    return found


def _words(kind: ReadKind) -> tuple[str, ...]:
    return kind.kind.lower(), kind.resource, f"{kind.resource}.{kind.group}"


def _anywhere(
    cluster: Cluster, kind: ReadKind, versions: tuple[str, ...], named: Named
) -> Manifest:
    """The one object of that name in all namespaces."""
    fields = f"metadata.name={named.own_name}"
    found = cluster.reader.listed(kind, versions, fields=fields).items
    if not found:
        raise _absent(cluster, kind, "", named)
    if len(found) > 1:
        namespaces = sorted(str(each["metadata"].get("namespace")) for each in found)
        raise ProgramError(
            f"{kind.kind.lower()} {named.own_name} is in namespaces {several(namespaces)}",
            helps=[f"say which: -n {namespaces[0]}"],
        )
    return found[0]


def _absent(cluster: Cluster, kind: ReadKind, namespace: str, named: Named) -> ProgramError:
    """No such object; those of the namespace with near names."""
    context = cluster.connection.context.name
    where = f" in namespace {namespace}" if namespace else ""
    by_name = replace(kind, names_only=True)
    try:
        beside = cluster.reader.listed(by_name, cluster.served.versions_of(kind), namespace=namespace)
        near = similar(named.own_name, [str(each["metadata"]["name"]) for each in beside.items])
    except Exception:  # noqa: BLE001 names that are near are a courtesy; that it is not there is said
        near = []
    helps = [f"{kind.kind.lower()}s with similar names: {', '.join(near)}"] if near else []
    option = f" -n {namespace}" if namespace else ""
    helps.append(f"all that wait: kscope triage --context {context}{option}")
    message = f"no {kind.kind.lower()} {named.own_name}{where} of context {context}"
    return ProgramError(message, helps=helps)


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
        {
            "as": f"{user}namespace {collection.namespace}",
            "effect": effect or effect_of(missing),
            "help": f"ask for these rights: kscope rbac --read {','.join(names)}",
        },
    )


def effect_of(missing: tuple[SeenKind, ...]) -> str:
    """What follows for an answer when these kinds were not seen."""
    kinds = {each.kind for each in missing}
    if "Node" in kinds:
        return "the model cannot decide: without nodes there is no place to try"
    if "Pod" in kinds:
        return "the model does not know who holds the room on the nodes"
    return f"not known: {'; '.join(dict.fromkeys(each.tells for each in missing if each.tells))}"

