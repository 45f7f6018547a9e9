"""Makes the plugin kubectl-kscope for krew: an archive, and the manifest that names it by its hash.

    python distribution/krew_plugin.py ADDRESS FOLDER

ADDRESS is where the archive will be downloaded from. In the archive stands a script that calls the
kscope that is installed, and says how to install one where there is none.
Upstream: krew, docs on the plugin manifest (krew.googlecontainertools.github.com/v1alpha2).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any, Final

import yaml

ROOM: Final = Path(__file__).resolve().parents[1]
ARCHIVE: Final = "kubectl-kscope.tar.gz"
BINARY: Final = "kubectl-kscope"
PLATFORMS: Final = ("linux", "darwin")
_SCRIPT: Final = """#!/bin/sh
# kubectl kscope: calls the kscope that is installed beside it, by pipx or pip.
IFS=:
for folder in "$HOME/.local/bin" $PATH; do
    # Beside kscope itself: what krew has installed is this script.
    if [ -x "$folder/kscope" ] && [ -x "$folder/kubectl-kscope" ]; then
        exec "$folder/kubectl-kscope" "$@"
    fi
done
echo "error: kscope is not installed" >&2
echo "  help: pipx install 'kscope-sim[live]'" >&2
exit 2
"""
_DESCRIPTION: Final = (
    "Says why pods wait and claims stay unbound, and tries the change that helps: kubectl kscope why "
    "pod/web-3, kubectl kscope triage. It reads the cluster and never writes to it."
)


def archive() -> bytes:
    """The archive: the script and the licence; the same bytes each time."""
    files = ((BINARY, _SCRIPT.encode(), 0o755), ("LICENSE", (ROOM / "LICENSE").read_bytes(), 0o644))
    packed = io.BytesIO()
    # The head of gzip has a time; without one, equal files have equal hashes.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name, data, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def manifest(address: str, packed: bytes) -> dict[str, Any]:
    """The manifest of a plugin whose archive is at *address*."""
    version = tomllib.loads((ROOM / "pyproject.toml").read_text())["project"]["version"]
    platforms = [
        {
            "selector": {"matchLabels": {"os": system}},
            "uri": address,
            "sha256": hashlib.sha256(packed).hexdigest(),
            "bin": BINARY,
            "files": [{"from": name, "to": "."} for name in (BINARY, "LICENSE")],
        }
        for system in PLATFORMS
    ]
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "kscope"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Say why pods wait, and try what helps",
            "description": _DESCRIPTION,
            "caveats": "It needs Python 3.11 and kscope itself: pipx install 'kscope-sim[live]'",
            "platforms": platforms,
        },
    }


def main(address: str, folder: Path) -> None:
    """Write both files into a folder."""
    packed = archive()
    (folder / ARCHIVE).write_bytes(packed)
    text = yaml.safe_dump(manifest(address, packed), sort_keys=False)
    (folder / "kscope.yaml").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
