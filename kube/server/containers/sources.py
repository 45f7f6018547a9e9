"""What the files in a pod's volumes are made of, as the client who asks is shown it."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.filling import asks_for_sources
from engine.objects.scripts.mounted_files import CONFIG_MAP, Held, Sources, sources_of
from engine.objects.scripts.script import Script
from kscope.runs.served.versions import Version
from kube.resources import CONFIG_MAPS, NODES, SECRETS
from kube.server.objects.instants import Instant
from kube.server.objects.secrets import token_of
from kube.server.reading import Read

_NOTHING: Final = Sources()


async def sources_at(read: Read, instant: Instant, pod: Pod, scripts: Sequence[Script]) -> Sources:
    """The sources of *pod* at an instant; nothing where none of *scripts* asks for files."""
    if not any(map(asks_for_sources, scripts)):
        return _NOTHING
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
