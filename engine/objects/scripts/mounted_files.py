"""The files that a container finds in volumes of ConfigMaps, Secrets and what a pod says of itself.

Upstream: MakePayload() of pkg/volume/configmap and secret, CollectData() of downwardapi and
projected, pkg/volume/util/atomic_writer.go, and changeFilePermission() of pkg/volume/volume_linux.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import normpath, relpath
from typing import Any, Final, NamedTuple

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.matching import all_containers
from engine.objects.scripts.pod_fields import field_text, resource_text

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"
_DEFAULT_MODE: Final = 0o644
# Of what only its owner may read: tokens and certificates, where the pod says who that is.
_OWNERS_MODE: Final = 0o600
# Of the folder of a volume, and of folders in it.
_ROOT_MODE: Final = 0o777
_FOLDER_MODE: Final = 0o755
# What a fsGroup may do: read files, and enter folders, whose files are of that group, too.
_READ, _WRITE, _ENTER = 0o440, 0o220, 0o110
# Files stand behind this link, which changes all of them at once.
_LINK: Final = "..data"
_NONE: Final[Manifest] = {}
_OWN_SOURCES: Final = ("serviceAccountToken", "clusterTrustBundle")


@dataclass(frozen=True, slots=True)
class Held:
    """The data of a ConfigMap or a Secret by their keys; *is_hidden* from who asks: each key is empty."""

    data: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    is_hidden: bool = False

    def of(self, key: str) -> bytes | None:
        """The data of a key; None for one that it does not have."""
        return self.data.get(key, b"" if self.is_hidden else None)


@dataclass(frozen=True, slots=True)
class Sources:
    """What files of a pod are made of: by kind and name, and what is allocatable on its node."""

    held: Mapping[tuple[str, str], Held] = field(default_factory=dict[tuple[str, str], Held])
    allocatable: Mapping[str, Any] = field(default_factory=dict[str, Any])


class MountedFile(NamedTuple):
    """A file, or a folder, and its mode as `ls -l` writes it: "-rw-r--r--"."""

    content: bytes
    mode: str


class _File(NamedTuple):
    content: bytes
    mode: int


def sources_of(pod: Pod) -> Iterator[tuple[str, str]]:
    """The kind and name of each ConfigMap and Secret that a volume of *pod* is made of."""
    for volume in items(pod.spec, "volumes"):
        for source in (volume, *items(section(volume, "projected"), "sources")):
            if name := _config_name(source):
                yield CONFIG_MAP, name
            if name := _secret_name(source):
                yield SECRET, name


def file_at(
    pod: Pod, container: Manifest, path: str, sources: Sources, first: Sources
) -> MountedFile | None:
    """What *container* finds at *path*; None for nothing that is known here.

    A mounted part of a volume stays as it was when the container started, with the *first* sources.
    """
    mount = _mount_of(container, path)
    if mount is None:
        return None
    volumes = items(pod.spec, "volumes")
    volume = next((one for one in volumes if one.get("name") == mount.get("name")), _NONE)
    files = _files_of(pod, volume, first if mount.get("subPath") else sources)
    if files is None:
        return None
    within = relpath(normpath(path), normpath(mount["mountPath"]))
    inner = normpath(f"{mount.get('subPath') or '.'}/{within}").removeprefix(f"{_LINK}/")
    group = section(pod.spec, "securityContext").get("fsGroup")
    is_writable = "emptyDir" in volume
    if inner in files:
        one = files[inner]
        return MountedFile(one.content, _mode_text(one.mode, group, is_writable=is_writable))
    if inner == "." or any(name.startswith(f"{inner}/") for name in files):
        mode = _ROOT_MODE if inner == "." else _FOLDER_MODE
        return MountedFile(b"", _folder_text(mode, group, is_writable=is_writable))
    return None


def _mount_of(container: Manifest, path: str) -> Manifest | None:
    """The innermost mount that *path* is in."""
    found = [
        one
        for one in items(container, "volumeMounts")
        if f"{normpath(path)}/".startswith(f"{normpath(one.get('mountPath') or '/')}/")
    ]
    return max(found, key=lambda one: len(normpath(one["mountPath"])), default=None)


def _files_of(pod: Pod, volume: Manifest, sources: Sources) -> dict[str, _File] | None:
    """The files of a volume by their paths in it; None for a volume of another kind."""
    if "projected" in volume:
        parts = items(section(volume, "projected"), "sources")
        mode = section(volume, "projected").get("defaultMode")
    elif "emptyDir" in volume:
        return {}
    else:
        parts = [volume]
        made_of = (section(volume, name) for name in ("configMap", "secret", "downwardAPI"))
        mode = next((one["defaultMode"] for one in made_of if "defaultMode" in one), None)
        if not any(name in volume for name in ("configMap", "secret", "downwardAPI")):
            return None
    found: dict[str, _File] = {}
    for part in parts:
        found |= _files_of_part(pod, part, _DEFAULT_MODE if mode is None else mode, sources)
    return found


def _files_of_part(pod: Pod, part: Manifest, mode: int, sources: Sources) -> dict[str, _File]:
    if name := _config_name(part):
        held = sources.held.get((CONFIG_MAP, name))
        return _payload(held, items(part["configMap"], "items"), mode)
    if name := _secret_name(part):
        held = sources.held.get((SECRET, name))
        return _payload(held, items(part["secret"], "items"), mode)
    if "downwardAPI" in part:
        told = items(section(part, "downwardAPI"), "items")
        return {normpath(one["path"]): _told_file(pod, one, mode, sources) for one in told}
    own = _OWNERS_MODE if _has_owner(pod) else mode
    paths = (section(part, name).get("path") for name in _OWN_SOURCES)
    return {normpath(path): _File(b"", own) for path in paths if path}


def _payload(held: Held | None, wanted: Sequence[Manifest], mode: int) -> dict[str, _File]:
    """The files of a ConfigMap or a Secret: all its keys, or those that are wanted, by their paths."""
    if held is None:
        return {}
    if not wanted:
        return {key: _File(content, mode) for key, content in held.data.items()}
    found = ((one, held.of(str(one.get("key")))) for one in wanted)
    return {
        normpath(one["path"]): _File(content, mode if one.get("mode") is None else one["mode"])
        for one, content in found
        if content is not None
    }


def _told_file(pod: Pod, one: Manifest, mode: int, sources: Sources) -> _File:
    """A file in which a pod tells a field of itself, or an amount of a container."""
    own = mode if one.get("mode") is None else one["mode"]
    if path := section(one, "fieldRef").get("fieldPath"):
        return _File(field_text(pod, path).encode(), own)
    asked = section(one, "resourceFieldRef")
    name = asked.get("containerName")
    container = next((each for each in all_containers(pod) if each.get("name") == name), _NONE)
    amounts, _, resource = str(asked.get("resource") or "").partition(".")
    allocatable, divisor = sources.allocatable, asked.get("divisor")
    text = resource_text(container, amounts, resource, allocatable, divisor)
    return _File(text.encode(), own)


def _has_owner(pod: Pod) -> bool:
    """Whether the pod names a group for files, or all its containers run as one user.

    Upstream: pkg/volume/util/util.go, FsUserFrom().
    """
    of_pod = section(pod.spec, "securityContext")
    users = {
        section(one, "securityContext").get("runAsUser", of_pod.get("runAsUser"))
        for one in all_containers(pod)
    }
    return of_pod.get("fsGroup") is not None or (len(users) == 1 and None not in users)


def _config_name(source: Manifest) -> str:
    return str(section(source, "configMap").get("name") or "")


def _secret_name(source: Manifest) -> str:
    """A volume calls it otherwise than a source of a projected one."""
    secret = section(source, "secret")
    return str(secret.get("secretName") or secret.get("name") or "")


def _mode_text(mode: int, group: int | None, *, is_writable: bool) -> str:
    if group is not None:
        mode |= _READ | (_WRITE if is_writable else 0)
    return "-" + _letters(mode)


def _folder_text(mode: int, group: int | None, *, is_writable: bool) -> str:
    if group is None:
        return "d" + _letters(mode)
    letters = _letters(mode | _READ | _ENTER | (_WRITE if is_writable else 0))
    # The bit by which what is made in it has its group.
    return f"d{letters[:5]}s{letters[6:]}"


def _letters(mode: int) -> str:
    return "".join(
        letter if mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwx" * 3)
    )
