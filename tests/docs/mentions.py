"""What a document names, and which of it does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs import truth, upstream
from tests.docs.documents import Document

_ROOMS = "docs|engine|kscope|scheduling|volumes|tests|static|bench|scenarios|requirements|templates"
_PATH = re.compile(rf"(?<![\w/.:-])(?:{_ROOMS})/[\w./*-]*[\w*/]")
_FILE = re.compile(r"(?:[\w*-][\w.*-]*/)*[\w*-][\w.*-]*\.(?:py|md|js|toml|in|css|html)")
_FOLDER = re.compile(r"(?:[a-z_][\w-]*/)+")
_MODULE = re.compile(r"(?:engine|kscope|scheduling|volumes|bench|tests)(?:\.[a-zA-Z_]\w*)+")
_MAKE = re.compile(r"(?:^|[`\s])make ([a-z][a-z0-9-]*)")
_MAKE_VARIABLE = re.compile(r"(?:^|\s)([A-Z][A-Z_]+)=")
_MANAGE = re.compile(r"manage\.py ([a-z_]\w*)([^`|#]*)")
_RUN = re.compile(r"(?:python|python3) -m ([a-z][\w.]*)([^`|#]*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_SETTING = re.compile(r"\b(?:KSCOPE|FUZZ|SOAK|PYTEST|DJANGO)_[A-Z_]+\b|\b(?:DATABASE|REDIS)_URL\b")
_REST = re.compile(r"(?:(GET|POST|PUT|PATCH|DELETE) )?(/(?:api|ws|admin|operations)/[^\s`|]*)")
_RELATIVE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (runs/[^\s`|]+)")
_CURL = re.compile(r"localhost:8000(/[\w/?=,-]*)")
_PROBE = re.compile(r"/(?:healthz|readyz|metrics)[\w/]*")
_PLACEHOLDER = re.compile(r"<\w+>|\b(?:ID|NS|NAME|NAMESPACE)\b")
# Two humps at least: a plugin, an event kind, a Kubernetes kind or field, or a class.
_CAMEL = re.compile(r"(?<![\w/.@#-])[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*)+(?![\w(/])")
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
# A test named in a table without its prefix, perhaps cut off: a_claim_is_half_bound…
_TEST_START = re.compile(r"(?<![`\w./])([a-z]+(?:_[a-z0-9]+){2,})(?![\w`(])")
_EXAMPLES = ("", "text", "python", "yaml", "json", "toml")


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """A name in a document for which there is nothing."""

    document: str
    line: int
    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: there is no {self.what} {self.name!r}"


def missing(document: Document) -> list[Missing]:
    """What *document* names and does not exist, in order."""
    found = {
        Missing(document.name, line, what, name)
        for check in _CHECKS
        for line, what, name, exists in check(document)
        if not exists
    }
    return sorted(found)


def counted(document: Document) -> dict[str, int]:
    """How many names of each kind *document* has."""
    counts: dict[str, int] = {}
    for check in _CHECKS:
        for _, what, _, _ in check(document):
            counts[what] = counts.get(what, 0) + 1
    return counts


_Found = Iterator[tuple[int, str, str, bool]]


def _paths(document: Document) -> _Found:
    beside = document.path.parent
    for line, text in document.prose:
        for name in _PATH.findall(_without_addresses(text)):
            if not _is_pattern(name) and not (name.count("/") == 1 and name.endswith("/")):
                yield line, "file or folder", name, truth.is_path(name, beside)
    for line, span in document.spans():
        if "://" in span or _is_pattern(span) or span.startswith(("/", ".kscope")):
            continue
        if _FILE.fullmatch(span) or _FOLDER.fullmatch(span):
            yield line, "file or folder", span, truth.is_path(span, beside)
    for line, language, text in document.code_lines():
        if language == "sh":
            for name in _PATH.findall(_without_addresses(text)):
                if not _is_pattern(name):
                    yield line, "file or folder", name, truth.is_path(name, beside)


def _modules(document: Document) -> _Found:
    for line, span in document.spans():
        if not _MODULE.fullmatch(span) or span in upstream.GROUPS:
            continue
        if not truth.is_path(span, document.path.parent):
            yield line, "module", span, truth.is_module(span)


def _commands(document: Document) -> _Found:
    for line, text in _commanding(document):
        for name in _MAKE.findall(text):
            yield line, "make target", name, truth.is_target(name)
            for variable in _MAKE_VARIABLE.findall(text):
                yield line, "setting", variable, truth.is_setting(variable)
        for name, rest in _MANAGE.findall(text):
            exists = truth.is_command(name)
            yield line, "manage.py command", name, exists
            if exists:
                yield from _words_of(line, name, rest)
        for name, rest in _RUN.findall(text):
            exists = truth.is_runnable(name)
            yield line, "module to run", name, exists
            for option in _OPTION.findall(rest) if exists and name != "pytest" else ():
                yield line, f"option of {name}", option, truth.has_option(name, option)


def _words_of(line: int, command: str, rest: str) -> _Found:
    for option in _OPTION.findall(rest):
        yield line, f"option of manage.py {command}", option, truth.takes(command, option)
    first = re.match(r"\s+([a-z]\w+)", rest)
    if first and truth.has_subcommands(command):
        what = f"subcommand of manage.py {command}"
        yield line, what, first[1], truth.takes(command, first[1])


def _options(document: Document) -> _Found:
    for line, span in document.spans():
        if re.fullmatch(rf"{_OPTION.pattern}(?:[ =].*)?", span):
            name = _OPTION.findall(span)[0]
            yield line, "option", name, truth.is_option(name) or name in upstream.OPTIONS


def _settings(document: Document) -> _Found:
    for line, text in document.everything():
        for name in _SETTING.findall(text):
            yield line, "setting", name, truth.is_setting(name)


def _addresses(document: Document) -> _Found:
    for line, text in _commanding(document):
        found = [
            *_REST.findall(text),
            *((m, f"/api/v1/{rest}") for m, rest in _RELATIVE.findall(text)),
        ]
        found += [("", name) for name in (*_CURL.findall(text), *_PROBE.findall(text))]
        for method, name in found:
            address = re.sub(r"<\w+>|ID\b|NS\b|NAME\b", "1", name)
            exists = truth.is_address(address)
            yield line, "address", name, exists
            if exists and method:
                yield line, f"{method} at", name, truth.takes_method(address, method)


def _names(document: Document) -> _Found:
    if document.name in upstream.PAGES:
        return
    lines = [*document.prose]
    lines += [
        (number, text) for number, lang, text in document.code_lines() if lang not in _EXAMPLES
    ]
    for line, text in lines:
        for name in _CAMEL.findall(_without_addresses(text)):
            what = "plugin, event kind or Kubernetes name"
            yield line, what, name, name in upstream.NAMES or truth.is_word(name)
    for line, text in document.prose:
        for name in _TEST_START.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)):
            yield line, "test or attribute", name, truth.begins_a_test(name) or truth.is_word(name)
    for line, span in document.spans():
        for name in _SNAKE.findall(span) if not _FILE.fullmatch(span) else ():
            if name.startswith("test_"):
                yield line, "test", name, truth.is_test(name)
            elif "/" not in span and "://" not in span and "…" not in span:
                yield line, "name", name, name in upstream.NAMES or truth.is_word(name)


def _commanding(document: Document) -> Iterator[tuple[int, str]]:
    """Where commands and addresses stand: code spans, and blocks that are no data."""
    yield from document.spans()
    for number, language, text in document.code_lines():
        if language == "sh":
            yield number, text


def _without_addresses(text: str) -> str:
    return re.sub(r"https?://\S+", "", text)


def _is_pattern(name: str) -> bool:
    """Whether some part of *name* is to be filled in by the reader."""
    return bool(re.search(r"[A-Z]{4,}\.(?:yaml|json)|<\w+>|…|NNNN", name))


_CHECKS = (_paths, _modules, _commands, _options, _settings, _addresses, _names)
