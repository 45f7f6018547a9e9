"""What every cluster has without anybody asking for it, and a run does not store.

Each namespace has its default ServiceAccount and the ConfigMap of the root certificate, and the
namespace `default` the Service `kubernetes`. They are made of the namespaces as they are asked for, so
that no history and no digest has them (ADR 0050). As soon as a client changes one it is an object of
the run; one that is deleted is there again at once with another uid, as a controller would see to it.
"""

import uuid
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from engine.kernel.units import timestamp
from engine.objects.kinds import entity_id
from engine.objects.objects import Manifest
from kscope.runs.served.versions import Version

# What every cluster has.
USUAL: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
# By kind, the name of what each namespace has of it.
IN_EACH: Final = {"ConfigMap": "kube-root-ca.crt", "ServiceAccount": "default"}
KUBERNETES: Final = ("default", "kubernetes")
KINDS: Final = frozenset((*IN_EACH, "Service"))
# By entity, the event that removed it last, and the uid that it had.
Removals = Mapping[str, tuple[int, str]]
NO_REMOVALS: Final[Removals] = {}
_NO_CERTIFICATE: Final = "# A run is served without a certificate of its own.\n"
_OF_KUBERNETES: Final[Manifest] = {
    "clusterIP": "10.96.0.1",
    "clusterIPs": ["10.96.0.1"],
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
    "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
}


class Place(NamedTuple):
    """Where a namespace is in the history: the event that made it, its uid, and since when it is."""

    name: str
    seq: int
    uid: str
    since: str


def place_of(namespace: Version) -> Place:
    """That of a namespace as it is read."""
    metadata = namespace.manifest["metadata"]
    uid, since = str(metadata.get("uid") or ""), str(metadata.get("creationTimestamp") or "")
    return Place(metadata["name"], namespace.created or namespace.seq, uid, since)


def namespaces_of(held: Iterable[Version], names: Iterable[str], ahead: int) -> list[Version]:
    """The Namespaces that are held, and one for each other of *names*, by name.

    A run needs no Namespace objects; clients look for one before they look into it. When the run
    began, clocks were *ahead* of EPOCH, in nanoseconds.
    """
    began = timestamp(ahead)
    found = {one.manifest["metadata"]["name"]: one for one in held}
    for name in (*USUAL, *names):
        if name and name not in found:
            # There since the run began, which is before its first event.
            metadata = {"name": name, "uid": f"namespace-{name}", "creationTimestamp": began}
            found[name] = Version(1, {"metadata": metadata})
    return [found[name] for name in sorted(found)]


def is_named(kind: str, namespace: str, name: str) -> bool:
    """Whether an object of that name may be such an object."""
    return IN_EACH.get(kind) == name or (kind, namespace, name) == ("Service", *KUBERNETES)


def entity_in(kind: str, namespace: str) -> str:
    """The id of what a namespace has of *kind*, once it is an object of the run."""
    return entity_id(kind, f"{namespace}/{IN_EACH.get(kind, KUBERNETES[1])}")


def after_removal(kind: str, place: Place, removals: Removals) -> Place:
    """The place of one that is there again since the last one was removed, with another uid."""
    seq, uid = removals.get(entity_in(kind, place.name), (0, ""))
    return place._replace(seq=seq, uid=uid) if seq else place


def furnished(
    kind: str, held: Iterable[Version], places: Iterable[Place], removals: Removals = NO_REMOVALS
) -> list[Version]:
    """The objects of *kind* that are held, and what the namespaces at *places* have besides."""
    found = {_key(one): one for one in held}
    for place in places:
        if (made := made_in(kind, after_removal(kind, place, removals))) is not None:
            found.setdefault(_key(made), made)
    return [found[key] for key in sorted(found)]


def made_in(kind: str, place: Place) -> Version | None:
    """What a namespace has of *kind* by itself, or None."""
    name = IN_EACH.get(kind, KUBERNETES[1])
    if not is_named(kind, place.name, name):
        return None
    metadata = {
        "name": name,
        "namespace": place.name,
        "uid": uid_of(f"{kind}/{place.name}/{place.uid}"),
        "creationTimestamp": place.since,
    }
    return Version(place.seq, _manifest(kind, metadata), place.seq, is_implied=True)


def uid_of(text: str) -> str:
    """The uid of what no run stores: always the same for the same text."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, text))


def _manifest(kind: str, metadata: Manifest) -> Manifest:
    head = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    match kind:
        case "ConfigMap":
            return {**head, "data": {"ca.crt": _NO_CERTIFICATE}}
        case "Service":
            metadata["labels"] = {"component": "apiserver", "provider": "kubernetes"}
            return {**head, "spec": _OF_KUBERNETES}
        case _:
            return head


def entity_of(kind: str, made: Version) -> str:
    """The id that such an object would have in the history."""
    namespace, name = _key(made)
    return entity_id(kind, f"{namespace}/{name}")


def _key(version: Version) -> tuple[str, str]:
    metadata = version.manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
