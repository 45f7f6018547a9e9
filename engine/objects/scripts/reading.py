"""Reads entries as people write them: docs/scenario-format.md, "What containers do"."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from engine.kernel.sentences import Sentence, enumerated, said_by, say
from engine.objects.cel.object_literals import with_plain_objects
from engine.objects.cel.programs import CelError, compiled
from engine.objects.documents import DocumentError, Limits, Path, yaml_documents
from engine.objects.scripts.placeholders import fault_in
from engine.objects.scripts.script import (
    NO_ENTRY,
    TERMINATED,
    CommandAnswer,
    Condition,
    ContainerRun,
    ContainerStop,
    HookScript,
    HttpAnswer,
    LogLine,
    ProbeKind,
    ProbeScript,
    Script,
    Turn,
    WebhookAnswer,
)
from engine.objects.values.cel_text import ExpressionError
from engine.objects.values.durations import parse_duration
from engine.objects.values.latencies import parse_latency
from engine.objects.values.shown import shown

# Takes (path, value, message) of what is wrong.
Note = Callable[[Path, Any, str], None]
Read = TypeVar("Read")

# The annotation of a pod, or of a template, that holds entries; in YAML or JSON.
SCRIPT_ANNOTATION: Final = "kscope.dev/containers"
# In the place of a time: the container runs until it is stopped.
FOREVER: Final = "forever"
_PROBES: Final = {
    "startup": ProbeKind.STARTUP,
    "readiness": ProbeKind.READINESS,
    "liveness": ProbeKind.LIVENESS,
}
_PATTERNS: Final = ("pod", "container", "image", "command")
_FIELDS: Final = (
    *_PATTERNS,
    *(
        "labels",
        "index",
        "times",
        "pull",
        "runs",
        "postStart",
        "preStop",
        "stop",
        *_PROBES,
        "logs",
        "exec",
        "http",
        "webhooks",
    ),
)
# Of the answer to a webhook: what it has as an admission policy has it, and the fields of each.
_RULES: Final = {
    "variables": ("name", "expression"),
    "matchConditions": ("name", "expression"),
    "validations": ("expression", "message", "messageExpression"),
}
_PATCHES: Final = {"jsonPatch": "JSONPatch", "applyConfiguration": "ApplyConfiguration"}
# Of a line or an answer: only with this file, and only without that one.
_CONDITIONS: Final = ("ifFile", "ifNoFile")
_MOST_ENTRIES: Final = 500
_MOST_LINES: Final = 1_000
# Of an annotation; upstream keeps no more of all annotations: apimachinery, TotalAnnotationSizeLimitB.
_LIMITS: Final = Limits(bytes=256 * 1024, depth=10, nodes=20_000, alias_nodes=2_000)
_LONGEST_OUTPUT: Final = 64 * 1024
_CODES: Final = range(256)
# Of HTTP; earlier ones announce another answer.
_STATUSES: Final = range(200, 600)
# Of a denial. Upstream makes 400 of any that is lower.
_REFUSALS: Final = range(400, 600)
_MOST: Final = range(1, 2**31)
_INDEXES: Final = range(2**31)


def read_scripts(raw: Any, path: Path, note: Note) -> tuple[Script, ...]:
    """The entries of a list; *note* hears what is wrong with them, and what is left then is read."""
    return tuple(
        replace(_script(each, (*path, place), note), number=place)
        for place, each in enumerate(_first(raw, _MOST_ENTRIES, path, note))
    )


def _first(raw: Any, most: int, path: Path, note: Note) -> list[Any]:
    """The first entries of a list, of which at most so many are read."""
    entries = _list(raw, path, note)
    if len(entries) > most:
        message = say(
            "has {count} entries; at most {most_tags} are read", count=len(entries), most_tags=most
        )
        note(path, None, message)
    return entries[:most]


def read_annotation(text: str, path: Path, note: Note) -> tuple[Script, ...]:
    """The entries of an annotation of a pod; a single one needs no list."""
    try:
        documents = yaml_documents(text.encode(), _LIMITS)
    except DocumentError as error:
        note(path, text, said_by(error))
        return ()
    raw = documents[0].value if documents else None
    scripts = read_scripts([raw] if isinstance(raw, dict) else raw, path, note)
    for place, script in enumerate(scripts):
        if script.command:
            message = say("only entries of the scenario can name a command, which no pod keeps")
            note((*path, place, "command"), script.command, message)
        if script.webhooks is not None:
            message = say("only entries of the scenario can answer webhooks")
            note((*path, place, "webhooks"), None, message)
    return tuple(replace(script, number=NO_ENTRY) for script in scripts)


def ignored(path: Path, value: Any, message: str) -> None:
    """A Note for what was checked when it was stored."""


def _script(raw: Any, path: Path, note: Note) -> Script:
    entry = _mapping(raw, _FIELDS, path, note)
    pod, container, image, command = (_text(entry, name, path, note) for name in _PATTERNS)
    return Script(
        pod=pod,
        container=container,
        image=image,
        command=command,
        labels=_labels(entry.get("labels"), (*path, "labels"), note),
        indexes=_indexes(entry.get("index"), (*path, "index"), note),
        times=_integer(entry, "times", path, note, _MOST),
        pull=_probe(entry["pull"], (*path, "pull"), note) if "pull" in entry else None,
        runs=tuple(
            _run(each, (*path, "runs", place), note)
            for place, each in enumerate(_list(entry.get("runs"), (*path, "runs"), note))
        ),
        stop=_stop(entry.get("stop"), (*path, "stop"), note),
        post_start=_hook(entry.get("postStart"), (*path, "postStart"), note),
        pre_stop=_hook(entry.get("preStop"), (*path, "preStop"), note),
        probes=tuple(
            (kind, _probe(entry[name], (*path, name), note))
            for name, kind in _PROBES.items()
            if name in entry
        ),
        logs=_log_lines(entry.get("logs"), (*path, "logs"), note),
        commands=None
        if entry.get("exec") is None
        else tuple(
            _answer(each, (*path, "exec", place), note)
            for place, each in enumerate(_list(entry["exec"], (*path, "exec"), note))
        ),
        http=None
        if entry.get("http") is None
        else tuple(
            _http_answer(each, (*path, "http", place), note)
            for place, each in enumerate(_list(entry["http"], (*path, "http"), note))
        ),
        webhooks=None
        if entry.get("webhooks") is None
        else tuple(
            _webhook_answer(each, (*path, "webhooks", place), note)
            for place, each in enumerate(_list(entry["webhooks"], (*path, "webhooks"), note))
        ),
    )


def _run(raw: Any, path: Path, note: Note) -> ContainerRun:
    run = _mapping(raw, ("for", "exit", "reason", "message"), path, note)
    lasts = run.get("for")
    return ContainerRun(
        None
        if lasts == FOREVER
        else _parsed(parse_latency, 0 if lasts is None else lasts, (*path, "for"), note),
        _integer(run, "exit", path, note, _CODES),
        _text(run, "reason", path, note),
        _text(run, "message", path, note),
    )


def _stop(raw: Any, path: Path, note: Note) -> ContainerStop:
    stop = _mapping(raw, ("after", "exit"), path, note)
    after = stop.get("after")
    return ContainerStop(
        None if after is None else _parsed(parse_duration, after, (*path, "after"), note),
        _integer(stop, "exit", path, note, _CODES, TERMINATED),
    )


def _hook(raw: Any, path: Path, note: Note) -> HookScript:
    hook = _mapping(raw, ("for", "exit"), path, note)
    lasts = hook.get("for")
    return HookScript(
        None if lasts is None else _parsed(parse_duration, lasts, (*path, "for"), note),
        _integer(hook, "exit", path, note, _CODES),
    )


def _probe(raw: Any, path: Path, note: Note) -> ProbeScript:
    """ "10s=pass, 2m=fail", "pass" from the start on, or a mapping of that with an output."""
    if not isinstance(raw, dict):
        return ProbeScript(_turns(raw, path, note))
    probe = _mapping(raw, ("times", "output"), path, note)
    turns = _turns(probe.get("times", "pass"), (*path, "times"), note)
    return ProbeScript(turns, _text(probe, "output", path, note) if "output" in probe else None)


def _turns(raw: Any, path: Path, note: Note) -> tuple[Turn, ...]:
    turns = _parsed(parse_turns, raw, path, note) or ()
    if any(later.at <= earlier.at for earlier, later in zip(turns, turns[1:], strict=False)):
        note(path, raw, say("the times must increase"))
    return turns


def parse_turns(raw: Any) -> tuple[Turn, ...]:
    """The turns of a text such as "10s=pass, 2m=fail". Raises ValueError."""
    turns: list[Turn] = []
    for entry in raw.split(",") if isinstance(raw, str) else [raw]:
        at, equals, word = entry.strip().rpartition("=") if isinstance(entry, str) else ("", "", "")
        if word.strip() not in ("pass", "fail"):
            raise ValueError(
                say(
                    "{found} is neither pass nor fail, with or without a time: pass, 10s=pass or 2m=fail",
                    found=shown(entry.strip() if isinstance(entry, str) else entry),
                )
            )
        turns.append(Turn(parse_duration(at.strip()) if equals else 0, word.strip() == "pass"))
    return tuple(turns)


def _log_lines(raw: Any, path: Path, note: Note) -> tuple[LogLine, ...]:
    return tuple(
        _log_line(each, (*path, place), note)
        for place, each in enumerate(_first(raw, _MOST_LINES, path, note))
    )


def _log_line(raw: Any, path: Path, note: Note) -> LogLine:
    """A text that is printed at the start, or a mapping."""
    if isinstance(raw, str):
        _check_places(raw, path, note)
        return LogLine(raw)
    line = _mapping(raw, ("at", "every", "text", *_CONDITIONS), path, note)
    if line.get("text") is None:
        note((*path, "text"), None, say("is missing"))
    every = _duration(line, "every", path, note)
    if line.get("every") is not None and not every:
        note((*path, "every"), line["every"], say("must be longer than 0s"))
    text, at = _filled_text(line, "text", path, note), _duration(line, "at", path, note)
    return LogLine(text, at, every, _condition(line, path, note))


def _answer(raw: Any, path: Path, note: Note) -> CommandAnswer:
    answer = _mapping(
        raw, ("command", "stdout", "stderr", "exit", "then", *_CONDITIONS), path, note
    )
    if answer.get("command") is None:
        note((*path, "command"), None, say("is missing"))
    return CommandAnswer(
        _text(answer, "command", path, note),
        _filled_text(answer, "stdout", path, note),
        _filled_text(answer, "stderr", path, note),
        _integer(answer, "exit", path, note, _CODES),
        _condition(answer, path, note),
        _then(answer.get("then"), (*path, "then"), note),
    )


def _then(raw: Any, path: Path, note: Note) -> tuple[tuple[ProbeKind, bool], ...]:
    """What probes of the container find after a command: pass or fail."""
    told = _mapping(raw, tuple(_PROBES), path, note)
    for name, word in told.items():
        if word not in ("pass", "fail"):
            note((*path, name), word, say("is neither pass nor fail"))
    return tuple((_PROBES[name], word == "pass") for name, word in told.items() if name in _PROBES)


def _http_answer(raw: Any, path: Path, note: Note) -> HttpAnswer:
    answer = _mapping(raw, ("path", "status", "body", *_CONDITIONS), path, note)
    return HttpAnswer(
        _text(answer, "path", path, note) or "*",
        _integer(answer, "status", path, note, _STATUSES, default=200),
        _filled_text(answer, "body", path, note),
        _condition(answer, path, note),
    )


def _webhook_answer(raw: Any, path: Path, note: Note) -> WebhookAnswer:
    known = ("path", "latency", "code", "deny", "warnings", *_RULES, "mutations")
    answer = _mapping(raw, known, path, note)
    rules: dict[str, list[dict[str, Any]]] = {
        part: [
            _rule(each, fields, (*path, part, place), note)
            for place, each in enumerate(_list(answer.get(part), (*path, part), note))
        ]
        for part, fields in _RULES.items()
    }
    if denial := _text(answer, "deny", path, note):
        rules["validations"].append({"expression": "false", "message": denial})
    rules["mutations"] = [
        _mutation(each, (*path, "mutations", place), note)
        for place, each in enumerate(_list(answer.get("mutations"), (*path, "mutations"), note))
    ]
    warned = _list(answer.get("warnings"), (*path, "warnings"), note)
    by_place = {str(place): each for place, each in enumerate(warned)}
    return WebhookAnswer(
        _text(answer, "path", path, note) or "*",
        None if answer.get("latency") == FOREVER else _duration(answer, "latency", path, note),
        _integer(answer, "code", path, note, _REFUSALS, default=403),
        tuple(_text(by_place, name, (*path, "warnings"), note) for name in by_place),
        rules,
    )


def _rule(raw: Any, fields: Iterable[str], path: Path, note: Note) -> dict[str, Any]:
    """A variable, a condition or a validation, whose expressions are CEL."""
    rule = _mapping(raw, fields, path, note)
    read = {name: _text(rule, name, path, note) for name in rule}
    _check_expression(read.get("expression", ""), (*path, "expression"), note)
    if text := read.get("messageExpression"):
        _check_expression(text, (*path, "messageExpression"), note)
    return read


def _mutation(raw: Any, path: Path, note: Note) -> dict[str, Any]:
    """A mutation, in the form in which a MutatingAdmissionPolicy has it."""
    mutation = _mapping(raw, _PATCHES, path, note)
    if len(mutation) != 1:
        note(path, None, say("expected one of {list}", list=enumerated([*_PATCHES])))
        return {}
    (part,) = mutation
    patch = _mapping(mutation[part], ("expression",), (*path, part), note)
    text = _text(patch, "expression", (*path, part), note)
    _check_expression(text, (*path, part, "expression"), note)
    return {"patchType": _PATCHES.get(part, ""), part: {"expression": text}}


def _check_expression(text: str, path: Path, note: Note) -> None:
    try:
        compiled(with_plain_objects(text))
    except (CelError, ExpressionError) as error:
        note(path, text, say("is no expression of CEL: {reason}", reason=str(error)))


def _condition(holder: dict[str, Any], path: Path, note: Note) -> Condition:
    paths = {name: _text(holder, name, path, note) for name in _CONDITIONS}
    for name, found in paths.items():
        if found and not found.startswith("/"):
            note((*path, name), found, say("expected a path that begins with /"))
    return Condition(*paths.values())


def _filled_text(holder: dict[str, Any], name: str, path: Path, note: Note) -> str:
    """A text that may have places."""
    text = _text(holder, name, path, note)
    _check_places(text, (*path, name), note)
    return text


def _check_places(text: str, path: Path, note: Note) -> None:
    if fault := fault_in(text):
        note(path, text, fault)


def _labels(raw: Any, path: Path, note: Note) -> tuple[tuple[str, str], ...]:
    if raw is None:
        return ()
    if not isinstance(raw, dict):
        note(path, raw, say("expected a mapping, found {found}", found=shown(raw)))
        return ()
    found = cast("dict[str, Any]", raw)
    return tuple((name, _text(found, name, path, note)) for name in sorted(found))


def _indexes(raw: Any, path: Path, note: Note) -> tuple[int, ...]:
    """An index of an Indexed Job, or a list of them."""
    if raw is None:
        return ()
    indexes = cast("list[Any]", raw) if isinstance(raw, list) else [raw]
    fields = {str(place): each for place, each in enumerate(indexes)}
    return tuple(_integer(fields, name, path, note, _INDEXES) for name in fields)


def _duration(holder: dict[str, Any], name: str, path: Path, note: Note) -> int:
    if holder.get(name) is None:
        return 0
    return _parsed(parse_duration, holder[name], (*path, name), note) or 0


def _parsed(parse: Callable[[Any], Read], value: Any, path: Path, note: Note) -> Read | None:
    try:
        return parse(value)
    except ValueError as error:
        note(path, value, said_by(error))
        return None


def _integer(
    holder: dict[str, Any], name: str, path: Path, note: Note, span: range, default: int = 0
) -> int:
    value = holder.get(name)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool) and value in span:
        return value
    message = say(
        "expected an integer from {least} to {most}, found {found}",
        least=span[0],
        most=span[-1],
        found=shown(value),
    )
    note((*path, name), value, message)
    return default


def _text(holder: dict[str, Any], name: str, path: Path, note: Note) -> str:
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        note((*path, name), value, say("expected a text, found {found}", found=shown(value)))
        return ""
    if fault := _text_fault(value):
        note((*path, name), value, fault)
    return value


def _text_fault(text: str) -> Sentence | None:
    if len(text) > _LONGEST_OUTPUT:
        return say(
            "has {count} characters; at most {most} are kept",
            count=len(text),
            most=_LONGEST_OUTPUT,
        )
    return say("holds the character U+0000") if "\0" in text else None


def _mapping(raw: Any, fields: Iterable[str], path: Path, note: Note) -> dict[str, Any]:
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        note(path, raw, say("expected a mapping, found {found}", found=shown(raw)))
        return {}
    found = cast("dict[str, Any]", raw)
    known = [*fields]
    for name in found:
        if name not in known:
            message = say("unknown field; known are {list}", list=enumerated(known))
            note((*path, name), found[name], message)
    return found


def _list(raw: Any, path: Path, note: Note) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        note(path, raw, say("expected a list, found {found}", found=shown(raw)))
        return []
    return cast("list[Any]", raw)
