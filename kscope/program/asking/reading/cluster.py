"""What concerns one object of a cluster itself, and which object somebody means."""

from __future__ import annotations

from dataclasses import replace

from kscope.program.asking.reading.kinds import KIND_OF_WORD, Named
from kscope.program.grammar import Request
from kscope.program.live.kinds import KINDS, ReadKind, kinds_named
from kscope.program.live.plans import plan_of
from kscope.program.live.reader import Manifest
from kscope.program.live.reading import Cluster, told
from kscope.program.live.whole import Live, read_plan
from kscope.program.speech.errors import ProgramError, similar, similar_help
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import several


def read_about(request: Request, screen: Screen, cluster: Cluster, named: Named) -> Live:
    """What concerns one object. Raises ProgramError where it is not there."""
    own, manifest = _object(request, cluster, named)
    plan = plan_of(manifest, own)
    only = kinds_named(request["read"] or "")
    plan = [each for each in plan if not only or each.kind in (*only, own)]
    namespace = manifest["metadata"].get("namespace")
    key = f"{namespace}/{named.own_name}" if namespace else named.own_name
    return read_plan(screen, cluster, plan, f"{own.kind.lower()}/{key}")


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
    return (
        named.namespace or request["namespace"] or cluster.connection.context.namespace or "default"
    )


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
        beside = cluster.reader.listed(
            by_name, cluster.served.versions_of(kind), namespace=namespace
        )
        near = similar(named.own_name, [str(each["metadata"]["name"]) for each in beside.items])
    except Exception:  # noqa: BLE001 names that are near are a courtesy; that it is not there is said
        near = []
    helps = [f"{kind.kind.lower()}s with similar names: {', '.join(near)}"] if near else []
    option = f" -n {namespace}" if namespace else ""
    helps.append(f"all that wait: kscope triage --context {context}{option}")
    message = f"no {kind.kind.lower()} {named.own_name}{where} of context {context}"
    return ProgramError(message, helps=helps)
