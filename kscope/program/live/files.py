"""A picture of a cluster as files: what `kscope collect` writes, and what `--context` is read as.

Values that kscope does not keep (data of Secrets and ConfigMaps, values of environment variables,
commands, copies that `kubectl apply` makes) are left out before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from engine.input.cleaning import as_evidence, without_values
from engine.input.formats.collection import Collection, SeenKind
from kscope.program.live.kinds import AUTOSCALER_STATUS
from kscope.program.live.reader import Listed, Manifest
from kscope.program.live.reading import Cluster, Picture

HEAD: Final = "kscope-collection.json"
_OBJECTS_A_FILE: Final = 500
# Upstream: apiserver pkg/endpoints/handlers/responsewriters, ForbiddenStatusError().
_USER: Final = re.compile(r'User "([^"]+)" cannot')
# Of what is read by name only.
_KEPT: Final = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "finalizers")


def collection_of(cluster: Cluster, picture: Picture, asked: str = "") -> Collection:
    """How the cluster was read."""
    context = cluster.connection.context
    return Collection(
        context=context.name,
        user=_user_of(picture) or context.user,
        namespace=cluster.reader.namespace,
        server_version=picture.server_version,
        read_at=picture.read_at,
        kinds=tuple(_seen_once(picture.lists)),
        asked=asked,
    )


def files_of(collection: Collection, picture: Picture) -> Iterator[tuple[str, bytes]]:
    """Names and contents: how it was read, then the objects of each kind."""
    yield HEAD, orjson.dumps(collection.to_document(), option=orjson.OPT_INDENT_2)
    numbers: dict[str, int] = {}
    for listed in picture.lists:
        title = listed.kind.title
        for begin in range(0, len(listed.items), _OBJECTS_A_FILE):
            numbers[title] = numbers.get(title, 0) + 1
            some = listed.items[begin : begin + _OBJECTS_A_FILE]
            yield f"{title}-{numbers[title]:03}.json", _list_of(listed, some)


def _user_of(picture: Picture) -> str:
    """As whom the API server knows us, which it says where it refuses; "" where it does not."""
    said = (_USER.search(each.why) for each in picture.lists)
    return next((match[1] for match in said if match), "")


def _list_of(listed: Listed, some: Iterable[Manifest]) -> bytes:
    head = {"apiVersion": listed.api_version, "kind": f"{listed.kind.kind}List"}
    return orjson.dumps({**head, "items": [_kept(listed, each) for each in some]})


def _kept(listed: Listed, item: Manifest) -> Manifest:
    """An object with its type, without values."""
    kind = listed.kind
    typed = {**item, "apiVersion": listed.api_version, "kind": kind.kind}
    metadata: dict[str, Any] = item.get("metadata") or {}
    key = str(metadata.get("namespace") or ""), str(metadata.get("name"))
    if kind.names_only and key != AUTOSCALER_STATUS:
        names = {name: metadata[name] for name in _KEPT if name in metadata}
        return {"apiVersion": typed["apiVersion"], "kind": kind.kind, "metadata": names}
    return as_evidence(without_values(typed, kind.kind))


def _seen_once(lists: Iterable[Listed]) -> Iterator[SeenKind]:
    """Each kind once, where it was asked for in several namespaces: as little as of one of them."""
    found: dict[str, list[Listed]] = {}
    for each in lists:
        found.setdefault(each.kind.title, []).append(each)
    for title, of_kind in found.items():
        least = min(of_kind, key=_order)
        count = sum(len(each.items) for each in of_kind)
        yield SeenKind(title, least.kind.kind, least.sight, count, least.kind.tells, least.why)


def _order(listed: Listed) -> int:
    return ("none", "namespace", "all", "absent").index(listed.sight)
