"""Builds the page that an export fills with a run: one HTML file that asks no network for anything.

    static/js, static/css, the sprite, the typefaces ──esbuild──▶ kscope/exports/page/built.html
                                                                    two marks: title, data

esbuild runs here alone: when the wheel is built, and in `make setup`. It is one binary, so that this
needs no Node; and only the standard library, because the wheel is built with it. docs/exports.md and
ADR 0043 say what the file is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kscope.static_files.modules import PAGE_MODULES, TYPEFACES

BUILT: Final = "kscope/exports/page/built.html"
# What an export replaces; a document has each once.
TITLE, DATA = "<!--kscope:title-->", "<!--kscope:data-->"
# Of static/js, each with the module of static/js/offline that takes its place.
REPLACED: Final = {
    "lib/api.js": "api.js",
    "model/run/base.js": "base.js",
    "model/shared/rights.js": "rights.js",
    "controllers/session/address.js": "address.js",
    "views/shared/term.js": "term.js",
    "views/shared/try_again.js": "try_again.js",
}
# Style sheets of every page, and those that only some have; the last is for paper.
EVERYWHERE: Final = ("fonts", "tokens", "ui", "offline")
OF_PAGES: Final = (
    *("pages", "pod", "node", "volumes", "board", "timeline", "machines"),
    *("first_look", "triage", "inside", "inside_cycle", "film", "film_parts"),
)
_SYSTEMS: Final = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32", "FreeBSD": "freebsd"}
_MACHINES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_LICENCES: Final = ("license", "licence", "ofl")


class OneFileError(Exception):
    """The page cannot be built; the message says what to do."""


def esbuild_package() -> str:
    """The package with the binary of esbuild for this machine."""
    system = _SYSTEMS.get(platform.system())
    machine = _MACHINES.get(platform.machine().lower())
    if system is None or machine is None:
        raise OneFileError(f"no esbuild is known for {platform.system()} {platform.machine()}")
    return f"@esbuild/{system}-{machine}"


def esbuild_binary(package: str) -> str:
    """Where the binary lies in its package."""
    return "esbuild.exe" if "/win32-" in package else "bin/esbuild"


def build(room: Path, modules: Path, esbuild: Path, target: Path) -> None:
    """Write the page of the checkout *room* to *target*; *modules* is a node_modules. Raises OneFileError."""
    with tempfile.TemporaryDirectory(prefix="kscope-page-") as name:
        stage = Path(name)
        _stage(room, modules, stage)
        code = _run(esbuild, stage, "js/offline/main.js", "--format=iife", "--target=es2023")
        sheets = {each: _css(esbuild, stage, each) for each in ("everywhere", *OF_PAGES, "print")}
    text = _document(room, modules, code, sheets)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(target)


def _stage(room: Path, modules: Path, stage: Path) -> None:
    """Lay out what esbuild reads: our modules with those of the file in their places, and the packages."""
    static = room / "static"
    shutil.copytree(static / "js", stage / "js")
    shutil.copytree(static / "css", stage / "css")
    for name, offline in REPLACED.items():
        place = stage / "js" / name
        # A name that is gone would leave the page with the module that asks a server.
        if not place.is_file():
            raise OneFileError(f"static/js has no {name}, which the offline file replaces")
        up = "../" * name.count("/")
        place.write_text(f'export * from "{up}offline/{offline}";\n', encoding="utf-8")
    imports = {"imports": {"#words": "./js/lib/english.js"}}
    (stage / "package.json").write_text(json.dumps(imports), encoding="utf-8")
    sheets = "".join(f'@import "./{each}.css";\n' for each in EVERYWHERE)
    (stage / "css" / "everywhere.css").write_text(sheets, encoding="utf-8")
    for file in TYPEFACES:
        _copy(modules / file, stage / "vendor" / file)
    for file in PAGE_MODULES.values():
        _copy(modules / file, stage / "node_modules" / file)
    for package in {_package(name) for name in PAGE_MODULES}:
        exports = {
            f".{name.removeprefix(package)}": f"./{file.removeprefix(f'{package}/')}"
            for name, file in PAGE_MODULES.items()
            if _package(name) == package
        }
        listed = json.dumps({"name": package, "type": "module", "exports": exports})
        (stage / "node_modules" / package / "package.json").write_text(listed, encoding="utf-8")


def _package(name: str) -> str:
    return "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _copy(source: Path, place: Path) -> None:
    if not source.is_file():
        raise OneFileError(f"{source} is missing; run `make setup`")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)


def _css(esbuild: Path, stage: Path, name: str) -> str:
    return _run(esbuild, stage, f"css/{name}.css", "--loader:.woff2=dataurl")


def _run(esbuild: Path, stage: Path, entry: str, *options: str) -> str:
    command = [esbuild, entry, "--bundle", "--minify", "--charset=utf8", "--log-level=warning"]
    done = subprocess.run(
        [*command, *options],
        cwd=stage,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode or done.stderr.strip():
        raise OneFileError(f"esbuild could not bundle {entry}:\n{done.stderr.strip()}")
    return done.stdout.strip()


def _document(room: Path, modules: Path, code: str, sheets: Mapping[str, str]) -> str:
    theme = (room / "static" / "js" / "theme.js").read_text(encoding="utf-8").strip()
    icon = (room / "static" / "favicon.svg").read_bytes()
    parts = {
        "policy": policy_of((theme, code), sheets.values()),
        "icon": f"data:image/svg+xml;base64,{base64.b64encode(icon).decode()}",
        "theme": theme,
        "styles": "\n".join(_style(name, text) for name, text in sheets.items()),
        "title": TITLE,
        "sprite": (room / "templates/partials/sprite.html").read_text(encoding="utf-8").strip(),
        "data": DATA,
        "licences": _licences(modules),
        "code": code,
    }
    for name in ("theme", "code", "licences"):
        if "</script" in parts[name].lower() or "<!--" in parts[name]:
            raise OneFileError(f"the {name} of the page would end its own script element")
    text = (room / "kscope/static_files/one_file.html").read_text(encoding="utf-8")
    # In one pass: what is put in may hold braces, too.
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], text)


def policy_of(scripts: Iterable[str], sheets: Iterable[str]) -> str:
    """The content security policy of a document that has these scripts and style sheets, and no others."""
    hashed = " ".join(map(_hash, scripts))
    styled = " ".join(map(_hash, sheets))
    return (
        f"default-src 'none'; script-src {hashed}; style-src {styled}; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _style(name: str, text: str) -> str:
    if name == "everywhere":
        return f"<style>{text}</style>"
    if name == "print":
        return f'<style media="print">{text}</style>'
    # Pages put on those that are theirs.
    return f'<style media="not all" data-css="{name}">{text}</style>'


def _licences(modules: Path) -> str:
    """The licences of what comes along, which have to go with it."""
    found: list[str] = []
    for package in sorted({_package(file) for file in (*PAGE_MODULES.values(), *TYPEFACES)}):
        for file in sorted((modules / package).iterdir()):
            if file.name.lower().startswith(_LICENCES):
                found.append(f"{package}\n\n{file.read_text(encoding='utf-8').strip()}")
    return "\n\n\n".join(found)


def main() -> int:
    """Build the page of this checkout, if anything of it is newer than what was built."""
    room = Path(__file__).resolve().parents[2]
    modules, target = room / "node_modules", room / BUILT
    if target.is_file() and target.stat().st_mtime >= _newest(room):
        return 0
    try:
        package = esbuild_package()
        build(room, modules, modules / package / esbuild_binary(package), target)
    except (OneFileError, OSError) as error:
        # Everything but one export works without it.
        sys.stderr.write(f"the page of `kscope export -o html` was not built: {error}\n")
    return 0


def _newest(room: Path) -> float:
    """When what the page is made of was last changed."""
    files = [path for path in (room / "static").rglob("*") if path.is_file()]
    files += [room / "package-lock.json", room / "templates/partials/sprite.html"]
    files += (room / "kscope/static_files").glob("*.*")
    return max(path.stat().st_mtime for path in files)


if __name__ == "__main__":
    sys.exit(main())
