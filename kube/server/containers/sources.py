"""What the files in a pod's volumes are made of, as the client who asks is shown it."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from channels.db import database_sync_to_async

from engine.kernel.units import SECOND, nanoseconds_of
from engine.objects.kinds import entity_id
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.filling import asks_for_sources
from engine.objects.scripts.mounted_files import CONFIG_MAP, SECRET, Held, Sources, sources_of
from engine.objects.scripts.script import Script
from kscope.runs.selectors import run_seq_at
from kscope.runs.served.changes import changes_of
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.runs import Run
from kscope.runs.served.versions import Version
from kube.resources import CONFIG_MAPS, NODES, SECRETS
from kube.server.objects.instants import Instant, Then
from kube.server.objects.secrets import token_of
from kube.server.reading import Read

_NOTHING: Final = Sources()
# What events about ConfigMaps and Secrets are called.
_FACTS: Final = tuple(
    f"{kind}{fact}" for kind in (CONFIG_MAP, SECRET) for fact in ("Created", "Updated", "Deleted")
)
# Of so many changes since a pod began the last are known; each costs a look into the past.
_MOST_CHANGES: Final = 20


class Epoch(NamedTuple):
    """The sources of a pod's files, and since when they are so, in ns since EPOCH."""

    clock: int
    sources: Sources


@dataclass(frozen=True, slots=True)
class Past:
    """Looks at a run as it was; *asker* takes turns with others who do."""

    links: SnapshotLinks
    run: Run
    asker: str

    def then(self, seq: int, at: int) -> Then:
        """The run after event *seq*, at virtual time *at*."""
        return Then(self.links, self.run.pk, seq, at, self.run.ahead or 0, self.asker)

    async def changes(self, pod: Pod, since: int, upto: int) -> list[tuple[int, int]]:
        """The last state before virtual time *since*, and each change of the sources of *pod* after it."""
        first = await database_sync_to_async(run_seq_at)(self.run, at=max(since, 0))
        entities = [entity_id(kind, f"{pod.namespace}/{name}") for kind, name in sources_of(pod)]
        if not entities:
            return []
        async with self.links.link() as link:
            found = await changes_of(link, self.run.pk, entities, _FACTS, first, upto)
        return [(first, since), *found[-_MOST_CHANGES:]] if found else []


async def epochs_of(
    read: Read, instant: Instant, pod: Pod, scripts: Sequence[Script], past: Past | None
) -> list[Epoch]:
    """The sources of *pod* up to an instant, since it began if there is a *past* to look into.

    Nothing where none of *scripts* asks for files. Statuses tell whole seconds: a change counts from the
    beginning of its second on.
    """
    if not any(map(asks_for_sources, scripts)):
        return [Epoch(0, _NOTHING)]
    now, began = await _sources_at(read, instant, pod), pod.status.get("startTime")
    ahead = read.ahead + read.shift * SECOND
    changes: list[tuple[int, int]] = []
    if past is not None and began:
        changes = await past.changes(pod, nanoseconds_of(began) - ahead, instant.seq)
    if past is None or not changes:
        return [Epoch(0, now)]
    return [
        Epoch((at + ahead) // SECOND * SECOND, await _sources_at(read, past.then(seq, at), pod))
        for seq, at in changes
    ]


async def _sources_at(read: Read, instant: Instant, pod: Pod) -> Sources:
    held: dict[tuple[str, str], Held] = {}
    for kind, name in sources_of(pod):
        resource = CONFIG_MAPS if kind == CONFIG_MAP else SECRETS
        found = await instant.find(resource, pod.namespace, name)
        if found is not None:
            of = _config_held if kind == CONFIG_MAP else _secret_held
            held[kind, name] = await of(read, found)
    node = await instant.find(NODES, "", pod.node_name) if pod.node_name else None
    return Sources(held, section(node.manifest, "status", "allocatable") if node else {})


async def _config_held(read: Read, version: Version) -> Held:
    """Of a ConfigMap; its values are hidden from who may not change the run, as they are in it."""
    texts = section(version.manifest, "data")
    binary = _decoded(section(version.manifest, "binaryData"))
    found = {**{key: str(text).encode() for key, text in texts.items()}, **binary}
    return Held(dict.fromkeys(found, b"")) if read.hides else Held(found)


async def _secret_held(read: Read, version: Version) -> Held:
    """Of a Secret, whose data are sealed beside the run."""
    if read.secrets is None or not token_of(version.manifest):
        return Held()
    (shown,) = await read.secrets.shown(SECRETS, [version])
    data = section(shown.manifest, "data")
    return Held(_decoded(data), is_hidden=not data)


def _decoded(data: Manifest | Mapping[str, Any]) -> dict[str, bytes]:
    """Texts of base64; what is none is empty."""
    return {key: _bytes_of(str(text)) for key, text in data.items()}


def _bytes_of(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""
