"""The data of Secrets: sealed rows beside a run, whose history only knows that a Secret is there.

A Secret of the run has, in an annotation, the token of the row with its data. The token is drawn anew
with each change of the data, so that these make a new version; it says nothing of them. Clients see
the data in its place, if they may change the run (ADR 0054).
"""

import asyncio
import base64
import binascii
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.objects.objects import Manifest
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.sealed import MOST_BYTES, sealed_add, sealed_drop, sealed_of
from kscope.runs.served.sealing import OtherKey, opened, sealed
from kscope.runs.served.versions import Version
from kube.resources import Resource
from kube.status import bad_request, invalid

SECRET: Final = "Secret"
TOKEN: Final = "kscope.dev/sealed-data"
# Clients find this in the place of data that cannot be read.
UNREADABLE: Final = "sealed by another key: the data cannot be read"
_PARTS: Final = ("data", "stringData")
# Upstream: MaxSecretSize.
_LONGEST: Final = 1024 * 1024
# By the type of a Secret, the keys that it has to have. Upstream:
# pkg/apis/core/validation/validation.go, ValidateSecret().
_WANTED: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_BASIC: Final = "kubernetes.io/basic-auth"
_OF_BASIC: Final = ("username", "password")


def is_secret(resource: Resource) -> bool:
    """Whether the objects of the resource are Secrets."""
    return resource.kind == SECRET


def data_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The data of a Secret as they are kept: what was written as text is encoded."""
    texts: Mapping[str, str] = manifest.get("stringData") or {}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    return {**(manifest.get("data") or {}), **encoded}


def check_data(resource: Resource, manifest: Mapping[str, Any]) -> None:
    """Raises ApiError for data that a Secret cannot have."""
    name = str(manifest["metadata"].get("name") or "")
    size, data = 0, data_of(manifest)
    for text in data.values():
        try:
            size += len(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError, TypeError) as problem:
            raise bad_request(
                'Secret in version "v1" cannot be handled as a Secret: illegal base64 data'
            ) from problem
    causes = [*_missing(str(manifest.get("type") or ""), data)]
    if size > _LONGEST:
        why = f"Too long: may not be more than {_LONGEST} bytes"
        causes.append(("FieldValueTooLong", why, "data"))
    if causes:
        raise invalid(resource, name, causes)


def _missing(kind: str, data: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for key in _WANTED.get(kind, ()):
        if key not in data:
            yield "FieldValueRequired", "Required value", f"data[{key}]"
    if kind == _BASIC and not any(key in data for key in _OF_BASIC):
        for key in _OF_BASIC:
            yield "FieldValueRequired", "Required value", f"data[{key}]"


def with_token(manifest: Manifest, token: str) -> Manifest:
    """A Secret as the run keeps it: without data, and with the token of the row that has them."""
    kept = {name: part for name, part in manifest.items() if name not in _PARTS}
    metadata = dict(manifest["metadata"])
    notes = {
        name: text for name, text in (metadata.get("annotations") or {}).items() if name != TOKEN
    }
    if token:
        notes[TOKEN] = token
    metadata.pop("annotations", None)
    if notes:
        metadata["annotations"] = notes
    return {**kept, "metadata": metadata}


def with_data(manifest: Manifest, data: dict[str, str]) -> Manifest:
    """A Secret as clients see it."""
    kept = {name: part for name, part in manifest.items() if name not in _PARTS}
    return {**kept, "data": data} if data else kept


def token_of(manifest: Mapping[str, Any]) -> str:
    """The token of a Secret of the run; "" for one whose data are not kept."""
    return str((manifest["metadata"].get("annotations") or {}).get(TOKEN) or "")


def new_token() -> str:
    """The name of a new row."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Sealing:
    """Data that are to be sealed for a Secret, and the token of the row; "" for no data."""

    resource: Resource
    name: str
    data: dict[str, str]
    token: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """The data of the Secrets of a run, as one client sees them: all or nothing."""

    links: SnapshotLinks
    run_id: int
    are_shown: bool

    async def shown(self, resource: Resource, versions: Sequence[Version]) -> list[Version]:
        """Versions of objects; Secrets among them with their data, where the client is shown them."""
        if not is_secret(resource):
            return [*versions]
        tokens = [one for one in map(token_of, (each.manifest for each in versions)) if one]
        rows: dict[str, bytes] = {}
        if tokens and self.are_shown:
            async with self.links.link() as link:
                rows = await sealed_of(link, self.run_id, tokens)
        return await asyncio.to_thread(lambda: [_shown(one, rows) for one in versions])

    async def keep(self, one: Sealing) -> None:
        """Seal the data of a Secret. Raises ApiError where a run has too many."""
        text = await asyncio.to_thread(sealed, one.data, one.token)
        async with self.links.link() as link:
            is_kept = await sealed_add(link, self.run_id, one.token, text)
        if not is_kept:
            why = f"the data of Secrets of a run have at most {MOST_BYTES:,} bytes"
            cause = ("FieldValueForbidden", f"Forbidden: {why}", "data")
            raise invalid(one.resource, one.name, [cause])

    async def forget(self, token: str) -> None:
        """Forget data that no Secret came to have."""
        async with self.links.link() as link:
            await sealed_drop(link, self.run_id, token)


def _shown(version: Version, rows: Mapping[str, bytes]) -> Version:
    token = token_of(version.manifest)
    if not token:
        return version
    bare = with_token(version.manifest, "")
    text = rows.get(token)
    if text is None:
        return replace(version, manifest=bare)
    with suppress(OtherKey):
        data = opened(text, token)
        return replace(version, manifest={**bare, "data": data} if data else bare)
    metadata = bare["metadata"]
    notes = {**(metadata.get("annotations") or {}), TOKEN: UNREADABLE}
    return replace(version, manifest={**bare, "metadata": {**metadata, "annotations": notes}})


def check_immutable(resource: Resource, name: str, old: Manifest, is_changed: bool) -> None:
    """Raises ApiError where the data of an immutable Secret would be changed."""
    if old.get("immutable") is True and is_changed:
        why = "Forbidden: field is immutable when `immutable` is set"
        raise invalid(resource, name, [("FieldValueForbidden", why, "data")])
