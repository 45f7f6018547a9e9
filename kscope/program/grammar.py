"""The grammar: `kscope COMMAND [FILE...] [TYPE/NAME] [flags]`.

Flags may stand anywhere, and mean the same in all commands. Each command has those that it uses;
its help, `helps/COMMAND.txt`, names the same, which a test compares.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from kscope.program.speech.errors import ProgramError, similar_help
from kscope.program.speech.formats import FORMATS
from kscope.program.speech.screen import COLORS

PROFILES: Final = ("v1.37", "v1.36", "v1.35", "v1.34.9", "v1.34", "v1.20", "v1.16", "v1.11")
CHANGES: Final = ("all", "best", "none")
SHELLS: Final = ("bash", "zsh", "fish")
# What a run is written as: kscope/exports/registry.py.
EXPORTS: Final = (
    *("kscope", "ndjson", "csv", "parquet", "perfetto", "otlp", "openmetrics", "mermaid"),
    *("yaml", "html", "events"),
)
# What the page of a run can do without: kscope/exports/page/recording.py.
PARTS: Final = ("inside", "evidence", "data", "why")


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its long name, its value ("" for none), its short name, and what it may be.

    *noun* is how a wrong value is called: "output format".
    """

    long: str
    value: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()
    noun: str = ""
    repeats: bool = False
    default: Any = None

    @property
    def key(self) -> str:
        """Its name in a Request."""
        return self.long.replace("-", "_")

    @property
    def names(self) -> list[str]:
        """As they are typed: "-n", "--namespace"."""
        return [*([f"-{self.short}"] if self.short else []), f"--{self.long}"]


_FLAGS: Final = (
    Flag("filename", "FILE", "f", repeats=True),
    Flag("context", "NAME"),
    Flag("kubeconfig", "FILE"),
    Flag("request-timeout", "TIME"),
    Flag("read", "KINDS"),
    Flag("secrets"),
    Flag("user", "NAME"),
    Flag("server", "ADDRESS"),
    Flag("fork", "FILE"),
    Flag("nodes", "LIST"),
    Flag("read-namespace", "NAME", repeats=True),
    Flag("read-selector", "SELECTOR"),
    Flag("ignore-unknown-plugins"),
    Flag("watch", "recording|newest", choices=("recording", "newest"), noun="reading of a watch"),
    Flag("perf-case", "CASE/WORKLOAD"),
    Flag("max-bytes", "SIZE"),
    Flag("profile", "VERSION", choices=PROFILES, noun="profile", repeats=True),
    Flag("namespace", "NAME", "n"),
    Flag("all-namespaces", short="A"),
    Flag("selector", "SELECTOR", "l"),
    Flag("output", "FORMAT", "o", FORMATS, "output format"),
    Flag("json"),
    Flag("strict"),
    Flag("at", "TIME"),
    Flag("changes", "all|best|none", choices=CHANGES, noun="choice of changes"),
    Flag("until", "TIME"),
    Flag("seed", "NUMBER"),
    Flag("tie-break", "random|name", choices=("random", "name"), noun="tie-break"),
    Flag("fail-on", "LIST"),
    Flag("save", "FILE"),
    Flag("history"),
    Flag("since", "TIME"),
    Flag("without", "PART", choices=PARTS, noun="part of the page", repeats=True),
    Flag("dry-run"),
    Flag("server", "URL"),
    Flag("junit", "FILE"),
    Flag("sarif", "FILE"),
    Flag("allow-writes"),
    Flag("host", "ADDRESS"),
    Flag("port", "NUMBER"),
    Flag("data", "FOLDER"),
    Flag("workers", "NUMBER"),
    Flag("color", "WHEN", choices=COLORS, noun="use of colours", default="auto"),
    Flag("quiet", short="q"),
    Flag("help", short="h"),
    Flag("version"),
)
FLAGS: Final = {flag.long: flag for flag in _FLAGS}
# What every command knows.
EVERYWHERE: Final = ("color", "quiet", "help")
_READING: Final = (
    *("read", "read-namespace", "read-selector", "ignore-unknown-plugins"),
    *("watch", "perf-case", "max-bytes"),
)
_SOURCE: Final = ("filename", "nodes", "profile", *_READING)
_CLUSTER: Final = ("context", "kubeconfig", "request-timeout")
_ANSWER: Final = ("namespace", "all-namespaces", "selector", "output", "json")


@dataclass(frozen=True, slots=True)
class Command:
    """One command, the flags that it has, and whether other words go to another program."""

    name: str
    flags: tuple[str, ...] = ()
    # Everything behind its name is read by manage.py.
    hands_over: bool = False
    # The words that may stand behind it, for the completion: "files", "object", or the words.
    operands: tuple[str, ...] = ()
    # What -o may be, where that is something else than for other commands.
    outputs: tuple[str, ...] = ()

    @property
    def all_flags(self) -> list[Flag]:
        """Its own and those of every command."""
        return [self._flag(name) for name in (*self.flags, *EVERYWHERE)]

    def _flag(self, name: str) -> Flag:
        flag = FLAGS[name]
        return replace(flag, choices=self.outputs) if name == "output" and self.outputs else flag


_COMMANDS: Final = (
    Command("triage", (*_SOURCE, *_CLUSTER, *_ANSWER, "strict", "changes"), operands=("files",)),
    Command("why", (*_SOURCE, *_CLUSTER, *_ANSWER, "strict", "at", "changes"), operands=("files",)),
    Command(
        "test",
        (*_SOURCE, "output", "json", "strict", "fail-on", "junit", "sarif"),
        operands=("files",),
    ),
    Command("diff", (*_SOURCE, *_ANSWER, "strict", "seed", "tie-break"), operands=("files",)),
    Command("up", ("host", "port", "data", "workers")),
    Command(
        "simulate",
        (
            *(*_SOURCE, "output", "json", "strict", "until", "seed", "tie-break", "fail-on"),
            *("save", "history"),
        ),
        operands=("files",),
    ),
    Command(
        "import",
        (*_SOURCE, "strict", "dry-run", "server", "output", "json"),
        operands=("files",),
    ),
    Command(
        "export",
        (
            *(*_SOURCE, "output", "namespace", "at", "history", "strict", "until", "seed"),
            *("tie-break", "server", "since", "without"),
        ),
        operands=("files",),
        outputs=EXPORTS,
    ),
    Command("collect", (*_CLUSTER, "read", "namespace"), operands=("files",)),
    Command(
        "follow",
        (
            *(
                *_CLUSTER,
                "read",
                "profile",
                "namespace",
                "all-namespaces",
                "selector",
                "output",
                "json",
            ),
            *("server", "fork"),
        ),
    ),
    Command("rbac", (*_CLUSTER, "read", "namespace", "secrets", "user", "output", "json")),
    Command("account", hands_over=True, operands=("create", "role", "password", "list")),
    Command("kubeconfig", hands_over=True),
    Command("mcp", ("server", "allow-writes")),
    Command("versions", ("output", "json")),
    Command("completion", operands=SHELLS),
    Command("man"),
)
COMMANDS: Final = {command.name: command for command in _COMMANDS}


@dataclass(slots=True)
class Request:
    """What was asked: a command, its words that are no flags, and the values of its flags."""

    command: str
    words: list[str] = field(default_factory=list[str])
    flags: dict[str, Any] = field(default_factory=dict[str, Any])

    def __getitem__(self, name: str) -> Any:
        """The value of a flag of the command; None where it was not given, and for one of others."""
        return self.flags.get(name.replace("-", "_"))

    @property
    def output(self) -> str:
        """The format of -o; "" for text for people."""
        return self["output"] or ("json" if self["json"] else "")


def parsed(arguments: Sequence[str]) -> Request:
    """The request of some arguments. Raises ProgramError for words that the grammar does not have."""
    place = _command_place(arguments)
    if place is None:
        return Request("", flags=_flags_alone(arguments))
    name = arguments[place]
    command = COMMANDS.get(name)
    if command is None:
        helps = similar_help("command", name, COMMANDS) or ["all commands: kscope --help"]
        raise ProgramError(f"no command is called {name}", helps=helps)
    rest = [*arguments[:place], *arguments[place + 1 :]]
    if command.hands_over and not {"-h", "--help"} & set(rest):
        return Request(name, rest)
    return _of_command(command, rest)


def _command_place(arguments: Sequence[str]) -> int | None:
    """Where the command stands: the first word that is no flag and no value of one."""
    takes = {each for flag in FLAGS.values() if flag.value for each in flag.names}
    is_value = False
    for place, word in enumerate(arguments):
        if not word.startswith("-") and not is_value:
            return place
        is_value = word in takes
    return None


def _flags_alone(arguments: Sequence[str]) -> dict[str, Any]:
    found = _parser([FLAGS[name] for name in (*EVERYWHERE, "version")]).parse_known_args(arguments)
    _refuse_unknown(found[1], FLAGS)
    return vars(found[0])


def _of_command(command: Command, arguments: Sequence[str]) -> Request:
    parser = _parser(command.all_flags)
    parser.add_argument("words", nargs="*")
    given, unknown = parser.parse_known_intermixed_args(_with_dash(arguments))
    _refuse_unknown(unknown, [flag.long for flag in command.all_flags])
    flags = vars(given)
    words = [_DASH if each == _STDIN else each for each in flags.pop("words")]
    return Request(command.name, words, flags)


# Standard input, as argparse reads it in any place.
_DASH, _STDIN = "-", "\0-"


def _with_dash(arguments: Sequence[str]) -> list[str]:
    return [_STDIN if each == _DASH else each for each in arguments]


def _refuse_unknown(unknown: Sequence[str], known: Any) -> None:
    if not unknown:
        return
    name = next((each for each in unknown if each.startswith("-")), unknown[0]).partition("=")[0]
    if not name.startswith("-"):
        raise ProgramError(f"{name} is one word too many")
    helps = similar_help("flag", name, [f"--{each}" for each in known])
    raise ProgramError(f"unknown flag {name}", helps=helps)


def _parser(flags: Sequence[Flag]) -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False, prog="kscope")
    for flag in flags:
        options: dict[str, Any] = {"dest": flag.key, "default": flag.default}
        if not flag.value:
            parser.add_argument(*flag.names, action="store_true", dest=flag.key)
            continue
        kind: Callable[[str], Any] = _choice(flag) if flag.choices else str
        action = "append" if flag.repeats else "store"
        if flag.repeats and flag.choices:
            # Given again, or several at once behind commas, as the REST API takes them.
            kind, action = _choices(flag), "extend"
        parser.add_argument(*flag.names, action=action, type=kind, **options)
    return parser


def _choice(flag: Flag) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text in flag.choices:
            return text
        last = f"{', '.join(flag.choices[:-1])} or {flag.choices[-1]}"
        raise ProgramError(f"no {flag.noun} is called {text}", helps=[last])

    return read


def _choices(flag: Flag) -> Callable[[str], list[str]]:
    read = _choice(flag)
    return lambda text: [read(each) for each in text.split(",")]


class _Parser(argparse.ArgumentParser):
    """Raises ProgramError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """What argparse says, in the form of our errors."""
        match = re.fullmatch(r"argument (?P<flag>[^:]+): expected one argument", message)
        if match:
            raise ProgramError(f"{match['flag'].replace('/', ', ')} needs a value")
        match = re.fullmatch(
            r"argument (?P<flag>[^:]+): ignored explicit argument (?P<value>.*)", message
        )
        if match:
            raise ProgramError(f"{match['flag'].replace('/', ', ')} takes no value")
        raise ProgramError(message)
