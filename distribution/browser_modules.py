"""Fetches the few browser modules that are served, and checks them against package-lock.json.

It also has esbuild build the page of `kscope export -o html`: ADR 0043.

In plain Python, so that neither building nor running kscope needs Node. The address of the registry
comes from npm's own configuration and is in no file of this repository.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

from kscope.static_files.modules import SERVED
from kscope.static_files.one_file import (
    BUILT,
    OneFileError,
    build,
    esbuild_binary,
    esbuild_package,
)

_MOST_BYTES = 50 * 1024 * 1024
_SECONDS = 60
_VARIABLE = "npm_config_registry"
_LICENCES = ("license", "licence", "ofl", "notice")


class BuildError(Exception):
    """The modules cannot be had; the message says what to do."""


def put_browser_modules(room: Path, target: Path) -> None:
    """Put the served files of node_modules, with their licences, into *target*/node_modules.

    They come from a `node_modules` that npm has installed from the same lock, else from the
    registry. Raises BuildError for what is not as the lock says.
    """
    lock = json.loads((room / "package-lock.json").read_text())["packages"]
    wanted: dict[str, list[str]] = {}
    for file in SERVED:
        wanted.setdefault(package_of(file), []).append(file)
    entries = {f"node_modules/{name}": lock[f"node_modules/{name}"] for name in wanted}
    registry = "" if _is_installed(room, entries) else registry_address(room)
    for name, files in wanted.items():
        if registry:
            _unpack(name, files, _fetched(registry, name, entries[f"node_modules/{name}"]), target)
        else:
            _copy(room, name, files, target)
    # Its digest is part of the addresses of static files.
    listed = target / "node_modules" / ".package-lock.json"
    listed.write_text(json.dumps({"packages": entries}, indent=2) + "\n")


def put_page(room: Path, target: Path) -> None:
    """Build the page that exports fill, out of the modules in *target*. Raises BuildError.

    esbuild comes from a `node_modules` or the registry, as the modules do; it goes into no wheel.
    """
    try:
        package = esbuild_package()
        binary = esbuild_binary(package)
        with tempfile.TemporaryDirectory(prefix="kscope-esbuild-") as folder:
            esbuild = _esbuild(room, package, binary, Path(folder))
            build(room, target / "node_modules", esbuild, target / BUILT)
    except OneFileError as error:
        raise BuildError(str(error)) from error


def _esbuild(room: Path, package: str, binary: str, folder: Path) -> Path:
    name = f"node_modules/{package}"
    entry = json.loads((room / "package-lock.json").read_text())["packages"][name]
    if _is_installed(room, {name: entry}):
        return room / name / binary
    file = f"{package}/{binary}"
    _unpack(package, [file], _fetched(registry_address(room), package, entry), folder)
    found = folder / "node_modules" / file
    found.chmod(0o755)
    return found


def package_of(file: str) -> str:
    """The package of a file in node_modules: "@codemirror/view" of "@codemirror/view/dist/index.js"."""
    parts = file.split("/")
    return "/".join(parts[: 2 if file.startswith("@") else 1])


def registry_address(room: Path) -> str:
    """Where npm fetches packages: its variable, its files, or what it says itself."""
    for name, value in os.environ.items():
        if name.lower() == _VARIABLE and value:
            return value.rstrip("/")
    for file in _npmrcs(room):
        for line in file.read_text().splitlines():
            key, found, value = line.partition("=")
            if found and key.strip() == "registry":
                return value.strip().rstrip("/")
    npm = shutil.which("npm")
    if npm:
        asked = subprocess.run(
            [npm, "config", "get", "registry"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and asked.stdout.startswith("http"):
            return asked.stdout.strip().rstrip("/")
    raise BuildError(
        "The browser modules are fetched from an npm registry, and nothing says which: set "
        "NPM_CONFIG_REGISTRY to its address, or run `make setup` first, which brings them."
    )


def _npmrcs(room: Path) -> Iterator[Path]:
    """npm's files, the nearest first."""
    given = os.environ.get("NPM_CONFIG_USERCONFIG")
    found = (room / ".npmrc", Path(given) if given else Path.home() / ".npmrc", Path("/etc/npmrc"))
    return (file for file in found if file.is_file())


def _is_installed(room: Path, entries: dict[str, dict[str, str]]) -> bool:
    """Whether npm, which checks what it installs, has installed just these packages."""
    try:
        listed = json.loads((room / "node_modules" / ".package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        listed.get(name, {}).get("integrity") == entry["integrity"]
        for name, entry in entries.items()
    )


def _copy(room: Path, name: str, files: Iterable[str], target: Path) -> None:
    folder = room / "node_modules" / name
    licences = [f"{name}/{each.name}" for each in folder.iterdir() if _is_licence(each.name)]
    for file in (*files, *licences):
        place = target / "node_modules" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(room / "node_modules" / file, place)


def _fetched(registry: str, name: str, entry: dict[str, str]) -> bytes:
    """The package as it was published, with the hash of the lock."""
    version, last = entry["version"], name.rpartition("/")[2]
    address = f"{registry}/{name}/-/{last}-{version}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            data: bytes = answer.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BuildError(f"{name} {version} cannot be fetched: {error}") from error
    if len(data) > _MOST_BYTES:
        raise BuildError(f"{name} {version} is larger than {_MOST_BYTES:,} bytes")
    check_integrity(f"{name} {version}", data, entry["integrity"])
    return data


def check_integrity(what: str, data: bytes, integrity: str) -> None:
    """Raise BuildError unless *data* has the hash. Upstream: Subresource Integrity, w3.org/TR/SRI."""
    algorithm, _, digest = integrity.split()[0].partition("-")
    if algorithm not in ("sha512", "sha384", "sha256"):
        raise BuildError(f"package-lock.json has no hash that can be checked of {what}")
    if base64.b64encode(hashlib.new(algorithm, data).digest()).decode() != digest:
        raise BuildError(f"{what} is not what package-lock.json says: its {algorithm} differs")


def _unpack(name: str, files: Iterable[str], data: bytes, target: Path) -> None:
    """The wanted files of a package, whose paths begin with one folder."""
    wanted = {file.removeprefix(f"{name}/"): file for file in files}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            inner = member.name.partition("/")[2]
            is_licence = "/" not in inner and _is_licence(inner)
            if not member.isfile() or (inner not in wanted and not is_licence):
                continue
            content = archive.extractfile(member)
            assert content is not None
            place = target / "node_modules" / wanted.pop(inner, f"{name}/{inner}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.read())
    if wanted:
        raise BuildError(f"{name} has no {', '.join(wanted)}")


def _is_licence(name: str) -> bool:
    return name.lower().startswith(_LICENCES)
