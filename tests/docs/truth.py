"""What there is: read from the code, the Makefile, Django's resolver and its commands."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from django.core.management import get_commands, load_command_class
from django.urls import resolve

from engine.objects.phases import CLAIM_MOVES, VOLUME_MOVES
from kscope.program.grammar import FLAGS
from kscope.runs.stream.routing import websocket_urlpatterns
from kscope.runs.web.contract.problems import is_nothing
from tests.docs.documents import ROOT

# How the code reads a variable of the environment.
_READS = re.compile(
    r"""(?:environ(?:\.get\(|\[)|env_\w+\(\s*[\w.]+,|\.get\(|SETTING =)\s*["']([A-Z_]+)["']"""
)
_DEFAULTS = re.compile(r"""setdefault\(\s*["']([A-Z_]+)["']|^\s*"([A-Z_]{4,})":""", re.MULTILINE)
_STRIPPED = {
    ".py": re.compile(r'"""(?:.|\n)*?"""|(?<!["\w])#[^\n]*'),
    ".js": re.compile(r"/\*(?:.|\n)*?\*/|(?<!:)//[^\n]*"),
}
_WORD = re.compile(r"[A-Za-z_]\w*")
# How the engines put together the kind of an event: the object's kind, and what was done to it.
_DONE = re.compile(
    r"(\w+?)(Created|Updated|StatusUpdated|Deleted|Terminating|Adopted|Released|Stripped"
    r"|ProtectionChanged)"
)
_SHORT_KINDS = ("Claim", "Volume", "Class")
_POD_PHASES = ("Running", "Succeeded", "Failed")
_CODE = (".py", ".js", ".html", ".yaml", ".yml", ".toml", ".css", ".json")


@cache
def tracked() -> frozenset[str]:
    """Every file of the repository, and every folder with a slash at its end."""
    files = listed_by_git() if is_clone() else listed_by_walking()
    folders = {f"{parent}/" for name in files for parent in Path(name).parents}
    return frozenset((*files, *folders))


def is_clone() -> bool:
    """Whether git can be asked; a machine may have an archive of the repository, or no git."""
    return (ROOT / ".git").exists() and shutil.which("git") is not None


def listed_by_git() -> list[str]:
    """The files that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def listed_by_walking(folder: Path = ROOT) -> list[str]:
    """The files of an archive of the repository: all but what `.gitignore` names."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [".git", *(line.strip("/") for line in lines)]
    found: list[str] = []
    for path in sorted(folder.iterdir()):
        name = path.relative_to(ROOT).as_posix()
        if any(fnmatch(path.name, each) or name == each for each in ignored):
            continue
        found.extend(listed_by_walking(path) if path.is_dir() else [name])
    return found


@cache
def _targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def is_target(name: str) -> bool:
    """Whether the Makefile has target *name*."""
    return name in _targets()


def is_path(name: str, beside: Path) -> bool:
    """Whether *name* is a file or folder: of the repository, or of the document's own folder.

    A name without a folder may be any file of that name; one with folders may leave out the first
    ones. Stars stand for whatever they match.
    """
    wanted = name.rstrip("/")
    known = {path.rstrip("/") for path in tracked()}
    if wanted in known or (beside / wanted).exists():
        return True
    pattern = re.escape(wanted).replace(r"\*", "[^/]*")
    return any(re.fullmatch(rf"(?:.*/)?{pattern}", path) for path in known)


def is_module(name: str) -> bool:
    """Whether the dotted *name* is a module of ours, or something defined in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:count])
        source = path.with_suffix(".py")
        if not source.exists():
            source = path / "__init__.py"
        if source.exists() or path.is_dir():
            text = source.read_text() if source.exists() else ""
            return all(re.search(rf"\b{part}\b", text) for part in parts[count:])
    return False


def is_runnable(name: str) -> bool:
    """Whether `python -m` finds *name*."""
    try:
        spec = find_spec(name)
    except ImportError:
        return False
    if spec is None:
        return False
    return spec.submodule_search_locations is None or find_spec(f"{name}.__main__") is not None


def has_option(module: str, option: str) -> bool:
    """Whether the code of *module* knows *option*."""
    base = ROOT.joinpath(*module.split("."))
    files = base.rglob("*.py") if base.is_dir() else [base.with_suffix(".py")]
    return any(f'"{option}"' in file.read_text() for file in files if file.exists())


def is_command(name: str) -> bool:
    """Whether `manage.py` has command *name*."""
    return name in get_commands() or name == "up"


@cache
def _options(command: str) -> frozenset[str]:
    if command == "up":
        text = "".join(path.read_text() for path in (ROOT / "kscope" / "up").glob("*.py"))
        return frozenset(re.findall(r'"(--[a-z-]+)"', text))
    app = get_commands()[command]
    loaded = load_command_class(app, command) if isinstance(app, str) else app
    return frozenset(_all_options(loaded.create_parser("manage.py", command)))


def _all_options(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action.choices, dict):
            found.update(action.choices)
            for inner in action.choices.values():
                found |= _all_options(inner)
    return found


def takes(command: str, word: str) -> bool:
    """Whether `manage.py` *command* takes option or subcommand *word*."""
    return word in _options(command)


def has_subcommands(command: str) -> bool:
    """Whether the first argument of `manage.py` *command* says what to do."""
    return any(not word.startswith("-") for word in _options(command))


@cache
def _any_options() -> frozenset[str]:
    return frozenset(re.findall(r'"(--[a-z][a-z-]*)"', _sources()))


def is_option(name: str) -> bool:
    """Whether some command of ours, the program, or the Dockerfile, knows option *name*."""
    if name.removeprefix("--") in FLAGS:
        return True
    return name in _any_options() or any(takes(command, name) for command in _our_commands())


@cache
def _our_commands() -> tuple[str, ...]:
    return tuple(name for name, app in get_commands().items() if str(app).startswith(_OURS))


_OURS = ("engine", "kscope", "scheduling", "volumes", "kube")


@cache
def _sources() -> str:
    """All Python, JavaScript, templates and data, without comments, docstrings and tests."""
    texts: list[str] = []
    for name in sorted(tracked()):
        path = ROOT / name
        if name.endswith(_CODE) and not name.startswith(("tests/", "docs/", "package-lock")):
            stripped = _STRIPPED.get(path.suffix)
            text = path.read_text()
            texts.append(stripped.sub("", text) if stripped else text)
    return "\n".join(texts)


@cache
def _tests() -> str:
    names = [name for name in tracked() if name.startswith("tests/") and name.endswith(".py")]
    return "\n".join((ROOT / name).read_text() for name in names if "/docs/" not in name)


@cache
def _settings() -> frozenset[str]:
    python = _sources() + _tests()
    shell = "".join(
        (ROOT / name).read_text()
        for name in ("Makefile", ".ci/parts", ".ci/run", "docker-compose.yml", "Dockerfile")
    )
    found = {*_READS.findall(python), *re.findall(r"\$\$?\{?\(?([A-Z_]{4,})", shell)}
    for given, keyed in _DEFAULTS.findall(python):
        found |= {given, keyed}
    return frozenset(found)


def is_setting(name: str) -> bool:
    """Whether the code reads, or sets, environment variable *name*."""
    return name in _settings()


@cache
def _words() -> frozenset[str]:
    return frozenset(_WORD.findall(_sources()))


def is_word(name: str) -> bool:
    """Whether the code has *name*, as an identifier or in a text, or puts it together."""
    known = _words()
    # prometheus_client adds the suffix to the name of a counter.
    counter = name.removesuffix("_total")
    spellings = (name, counter, name.removesuffix("s"))
    return any(one in known for one in spellings) or _is_put_together(name)


def _is_put_together(name: str) -> bool:
    """Whether *name* is the kind of an event: an object's kind, and a deed or a phase."""
    moves = {"Pod": _POD_PHASES, "Claim": (*CLAIM_MOVES,), "Volume": (*VOLUME_MOVES,)}
    if any(name == f"{kind}{phase}" for kind, phases in moves.items() for phase in phases):
        return True
    done = _DONE.fullmatch(name)
    return done is not None and (done[1] in _SHORT_KINDS or done[1] in _words())


@cache
def _test_names() -> frozenset[str]:
    return frozenset(re.findall(r"\b(test_\w+)", _tests()))


def is_test(name: str) -> bool:
    """Whether there is a test, or a file of tests, of this name."""
    return name in _test_names() or any(path.endswith(f"/{name}.py") for path in tracked())


def begins_a_test(name: str) -> bool:
    """Whether some test is called `test_` and *name*, and perhaps more."""
    return any(test.startswith(f"test_{name}") for test in _test_names())


def is_address(address: str) -> bool:
    """Whether a request to *address*, which begins with a slash, finds a view or a socket."""
    path = address.partition("?")[0]
    if path.startswith("/ws/"):
        return any(
            # One without a name takes whatever is left.
            str(pattern.pattern) and pattern.resolve(path[1:])
            for pattern in websocket_urlpatterns
        )
    if any(known.startswith(path) for known in ("/api/v1/", "/static/")):
        return True
    return not is_nothing(path)


def takes_method(address: str, method: str) -> bool:
    """Whether the view at *address* answers *method*; views that are functions may answer all."""
    view = resolve(address.partition("?")[0]).func
    kind = getattr(view, "view_class", None) or getattr(view, "cls", None)
    return kind is None or hasattr(kind, method.lower())
