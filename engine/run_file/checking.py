"""Checks what came in a run file, as files of manifests are checked: it may be from anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from engine.api_server.validation.report import Report, text_fault
from engine.cluster.commands import Command
from engine.input.budget import MOST, PARTS, Budget
from engine.input.cleaning import clean
from engine.input.collected import check as check_manifest
from engine.input.header.external import parse_external
from engine.input.header.telling import parse_telling
from engine.input.instants import is_time
from engine.input.scenario import LONGEST_NAME, SEEDS, STEP_VERBS, Scenario, Step
from engine.kernel.errors import ApiError
from engine.kernel.latency import DEFAULT_LATENCIES
from engine.objects.documents import Path, show_path
from engine.objects.scripts.reading import read_scripts
from engine.objects.values.shown import shown
from engine.run_file.contents import Choices, End, Manifest, Recorded, RunFileError, mapping
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.registry import VERSIONS

_SHAPES: Final = ("fixed", "uniform", "normal")
_LONGEST_TEXT: Final = 100_000
_MOST_PROBLEMS: Final = 3
_DIGEST: Final = 64


def checked_choices(raw: Any) -> Choices:
    """What was chosen. Raises RunFileError."""
    given = mapping(raw, "run")
    unknown = given.keys() - {*Choices.__slots__}
    if unknown:
        raise RunFileError(f"run: {min(unknown)[:100]!r} is not known")
    profile, tie_break = given.get("profile"), given.get("tie_break", "random")
    if profile not in VERSIONS:
        raise RunFileError(f"run.profile: {shown(profile)} is not one of {', '.join(VERSIONS)}")
    if tie_break not in ("random", "name"):
        raise RunFileError(f"run.tie_break: {shown(tie_break)} is not random or name")
    configuration = given.get("configuration")
    return Choices(
        name=_text(given, "name", LONGEST_NAME),
        profile=str(profile),
        seed=_whole(given, "seed", SEEDS),
        tie_break="name" if tie_break == "name" else "random",
        feature_gates=_gates(given),
        external_scheduler=given.get("external_scheduler") is True,
        external_controllers=_controllers(given),
        configuration=None if configuration is None else mapping(configuration, "configuration"),
    )


def checked_end(raw: Any) -> End:
    """Where the history ends. Raises RunFileError."""
    given = mapping(raw, "end")
    events, steps, at = (_whole(given, name, range(MOST)) for name in ("events", "steps", "at"))
    digest = _text(given, "digest", _DIGEST)
    if len(digest) != _DIGEST or not set(digest) <= set("0123456789abcdef"):
        raise RunFileError(f"end.digest: {shown(digest)} is no digest of 64 digits")
    return End(events, steps, at, digest)


def checked_command(raw: Any) -> Recorded:
    """A command and where it was taken. Raises RunFileError."""
    given = mapping(raw, "a command")
    body = mapping(given.get("body"), "the body of a command")
    try:
        Command.from_dict(body)
    except ApiError as error:
        raise RunFileError(f"a command of the file is none: {error}") from None
    steps, at = (_whole(given, name, range(MOST)) for name in ("steps", "at"))
    return Recorded(steps, at, body)


def check_play(scenario: Scenario, choices: Choices) -> None:
    """Refuse what no cluster can be made of: its schedulers, its first objects. Raises RunFileError."""
    document = {**scenario.to_dict(), "profile": choices.profile}
    report = check_setup(document, scenario.configuration, scenario.objects)
    for fault in report.faults:
        raise RunFileError(f"{fault.part}.{fault.path}: {fault.message}")


def checked_document(raw: Any) -> Manifest:
    """The JSON form of a scenario, cleaned. Raises RunFileError with the first few problems."""
    given, report = mapping(raw, "the scenario"), Report()
    found: Manifest = {}
    for name, value in given.items():
        check = SCENARIO_PARTS.get(name)
        if check is None:
            report.add((name,), None, "no scenario has this field")
        else:
            found[name] = check(value, (name,), report)
    _raise_problems(report)
    return found


def _raise_problems(report: Report) -> None:
    texts = [f"{show_path(path)}: {message}" for path, _, message in report.problems]
    if texts:
        more = f"; and {len(texts) - _MOST_PROBLEMS:,} more" if len(texts) > _MOST_PROBLEMS else ""
        raise RunFileError(f"the scenario: {'; '.join(texts[:_MOST_PROBLEMS])}{more}")


def _whole(given: Manifest, name: str, allowed: range) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        raise RunFileError(f"{name}: expected a whole number, found {shown(value)}")
    return value


def _text(given: Manifest, name: str, longest: int) -> str:
    value = given.get(name)
    if not isinstance(value, str) or text_fault(value, longest):
        raise RunFileError(f"{name}: {shown(value)} is no text of at most {longest} characters")
    return value


def _gates(given: Manifest) -> dict[str, bool]:
    gates = mapping(given.get("feature_gates") or {}, "feature_gates")
    for name, value in gates.items():
        if not isinstance(value, bool):
            raise RunFileError(f"feature_gates.{name[:100]}: expected true or false")
    return gates


def _controllers(given: Manifest) -> tuple[str, ...]:
    report = Report()
    found = parse_external(given.get("external_controllers"), ("external_controllers",), report)
    if report.problems:
        raise RunFileError(f"run.external_controllers: {report.problems[0][2]}")
    return tuple(found)


# -- the parts of a scenario -------------------------------------------------------------------------


def _line(value: Any, path: Path, report: Report) -> str:
    return _of_length(value, path, report, LONGEST_NAME)


def _prose(value: Any, path: Path, report: Report) -> str:
    return _of_length(value, path, report, _LONGEST_TEXT)


def _of_length(value: Any, path: Path, report: Report, longest: int) -> str:
    if not isinstance(value, str):
        report.add(path, value, f"expected a text, found {shown(value)}")
        return ""
    fault = text_fault(value, longest)
    if fault:
        report.add(path, value, fault)
    return value


def _objects(value: Any, path: Path, report: Report) -> list[Manifest]:
    return [_object(each, (*path, i), report) for i, each in enumerate(_list(value, path, report))]


def _object(value: Any, path: Path, report: Report) -> Manifest:
    before = len(report.problems)
    nulls = check_manifest(value, path, report)
    return {} if len(report.problems) > before else clean(value, nulls=nulls)


def _plain_objects(value: Any, path: Path, report: Report) -> list[Manifest]:
    """Manifests of which nothing but the name is certain: each has its kind and its metadata."""
    found: list[Manifest] = []
    for i, each in enumerate(_list(value, path, report)):
        raw = _mapping(each, (*path, i), report)
        metadata = _mapping(raw.get("metadata"), (*path, i, "metadata"), report)
        for name, text in (("kind", raw.get("kind")), ("name", metadata.get("name"))):
            if not isinstance(text, str):
                report.add((*path, i, name), text, f"expected a text, found {shown(text)}")
        found.append(raw)
    return found


def _left_out(value: Any, path: Path, report: Report) -> list[Manifest]:
    kinds: Mapping[str, type] = {
        "kind": str,
        "group": str,
        "count": int,
        "note": str,
        "is_neutral": bool,
    }
    found = [
        _mapping(each, (*path, i), report) for i, each in enumerate(_list(value, path, report))
    ]
    for i, each in enumerate(found):
        if {name: type(part) for name, part in each.items()} != kinds:
            report.add((*path, i), None, f"expected {', '.join(kinds)}")
    return found


def _mappings(value: Any, path: Path, report: Report) -> list[Manifest]:
    return [_mapping(each, (*path, i), report) for i, each in enumerate(_list(value, path, report))]


def _steps(value: Any, path: Path, report: Report) -> list[Manifest]:
    found: list[Manifest] = []
    for i, each in enumerate(_list(value, path, report)):
        step = _mapping(each, (*path, i), report)
        at = step.get("at")
        if isinstance(at, bool) or not isinstance(at, int) or at not in range(MOST):
            report.add((*path, i, "at"), at, f"expected ns of virtual time, found {shown(at)}")
        elif step.keys() - {*Step.__slots__}:
            report.add((*path, i), None, "has a field that no step has")
        else:
            found.append(_step(step, (*path, i), report))
    return found


def _step(step: Manifest, path: Path, report: Report) -> Manifest:
    body = {name: part for name, part in step.items() if name != "at"}
    try:
        if body.get("verb") not in STEP_VERBS:
            report.add((*path, "verb"), body.get("verb"), "no step has this verb")
        Command.from_dict(body)
    except ApiError as error:
        report.add(path, None, str(error))
    return step


def _duration(value: Any, path: Path, report: Report) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in range(MOST):
        report.add(path, value, f"expected ns of virtual time, found {shown(value)}")
        return 0
    return value


def _seed(value: Any, path: Path, report: Report) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in SEEDS:
        report.add(path, value, f"expected a 64-bit integer, found {shown(value)}")
        return 0
    return value


def _latencies(value: Any, path: Path, report: Report) -> Manifest:
    found = _mapping(value, path, report)
    for name, each in found.items():
        parts = _mapping(each, (*path, name), report)
        low, high = (_duration(parts.get(part), (*path, name, part), report) for part in _BOUNDS)
        is_known = name in DEFAULT_LATENCIES and parts.get("shape") in _SHAPES
        if not is_known or parts.keys() != {"shape", *_BOUNDS}:
            report.add((*path, name), None, "is no latency of a shape that is known")
        elif parts["shape"] == "uniform" and high < low:
            report.add((*path, name), None, "uniform needs low and high in this order")
    return found


_BOUNDS: Final = ("low", "high")


def _configuration(value: Any, path: Path, report: Report) -> Manifest | None:
    return None if value is None else _mapping(value, path, report)


def _budget(value: Any, path: Path, report: Report) -> Manifest:
    found, usual = _mapping(value, path, report), Budget().to_dict()
    for name, each in found.items():
        is_number = isinstance(each, int) and not isinstance(each, bool)
        if name not in PARTS or not is_number or not 0 < each <= usual[name]:
            report.add((*path, name), each, f"{shown(each)} is no part of a budget")
    return found


def _feature_gates(value: Any, path: Path, report: Report) -> Manifest:
    found = _mapping(value, path, report)
    for name, each in found.items():
        if not isinstance(each, bool):
            report.add((*path, name), each, f"expected true or false, found {shown(each)}")
    return found


def _flag(value: Any, path: Path, report: Report) -> bool:
    if not isinstance(value, bool):
        report.add(path, value, f"expected true or false, found {shown(value)}")
    return value is True


def _instant(value: Any, path: Path, report: Report) -> str:
    if value and not is_time(value):
        report.add(path, value, f"expected a time of UTC, found {shown(value)}")
        return ""
    return value or ""


def _told(value: Any, path: Path, report: Report) -> Manifest:
    return parse_telling(_mapping(value, path, report), path, report)


def _profile(value: Any, path: Path, report: Report) -> str:
    if value and value not in VERSIONS:
        report.add(path, value, f"{shown(value)} is not one of {', '.join(VERSIONS)}")
        return ""
    return value or ""


def _mapping(value: Any, path: Path, report: Report) -> Manifest:
    if not isinstance(value, dict):
        report.add(path, value, f"expected a mapping, found {shown(value)}")
        return {}
    return cast("Manifest", value)


def _list(value: Any, path: Path, report: Report) -> list[Any]:
    if not isinstance(value, list):
        report.add(path, value, f"expected a list, found {shown(value)}")
        return []
    return cast("list[Any]", value)


def _containers(value: Any, path: Path, report: Report) -> list[Any]:
    found = _mappings(value, path, report)
    read_scripts(found, path, report.add)
    return found


SCENARIO_PARTS: Final[Mapping[str, Callable[[Any, Path, Report], Any]]] = {
    "name": _line,
    "title": _line,
    "question": _prose,
    "objects": _objects,
    "steps": _steps,
    "until": _duration,
    "latencies": _latencies,
    "profile": _profile,
    "seed": _seed,
    "source": _prose,
    "configuration": _configuration,
    "schedulers": _mappings,
    "not_modelled": _left_out,
    "outside": _plain_objects,
    "budget": _budget,
    "feature_gates": _feature_gates,
    "external_scheduler": _flag,
    "external_controllers": parse_external,
    "containers": _containers,
    "instant": _instant,
    "served": _line,
    "lasts": _flag,
    "told": _told,
}
