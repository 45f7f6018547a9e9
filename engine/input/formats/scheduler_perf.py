"""Test cases of upstream's scheduler_perf, as scenarios.

Upstream: test/integration/scheduler_perf/scheduler_perf.go (operations), util.go (base node, base
pod). Operations that wait for their pods have ten seconds here; upstream they have as long as they
take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, cast

from engine.input.generate import base_node, base_pod
from engine.kernel.sentences import enumerated, grouped, said_by, say
from engine.kernel.units import SECOND
from engine.objects.values.durations import parse_duration

Manifest = dict[str, Any]
# Gives the manifests of the file that a path names; none where it is not among the files.
Templates = Callable[[str], list[Manifest]]

_WAITS: Final = 10 * SECOND
MOST_OBJECTS: Final = 100_000
# Operations without an effect on a run: it measures nothing.
_IDLE: Final = ("startCollectingMetrics", "stopCollectingMetrics", "barrier")


@dataclass(slots=True)
class PerfScenario:
    """What a test case begins with, what is done later, and what is told about it."""

    name: str
    objects: list[Manifest] = field(default_factory=list[Manifest])
    steps: list[Manifest] = field(default_factory=list[Manifest])
    gates: dict[str, bool] = field(default_factory=dict[str, bool])
    notes: list[str] = field(default_factory=list[str])
    until: int = 60 * SECOND


class PerfFault(ValueError):
    """A test case that cannot be read; `path` says where."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def is_perf(value: Any) -> bool:
    """Whether a document is a list of test cases."""
    if not isinstance(value, list) or not value:
        return False
    cases = cast("list[Any]", value)
    return all(isinstance(each, dict) and "workloadTemplate" in each for each in cases)


def template_paths(cases: list[Manifest]) -> list[str]:
    """The files that the test cases name as templates."""
    return list(dict.fromkeys(_paths_in(cases)))


def _paths_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _paths_in(each)
    elif isinstance(value, dict):
        for name, part in cast("Manifest", value).items():
            if name.lower().endswith("templatepath") and isinstance(part, str):
                yield part
            elif name == "templatePaths" and isinstance(part, list):
                yield from (each for each in cast("list[Any]", part) if isinstance(each, str))
            else:
                yield from _paths_in(part)


def perf_scenario(cases: list[Manifest], chosen: str, templates: Templates) -> PerfScenario:
    """The scenario of the test case *chosen*, "CASE/WORKLOAD", or of the first one.

    Raises PerfFault.
    """
    names = [
        (place, case, row) for place, case in enumerate(cases) for row in _workloads(case, place)
    ]
    if not names:
        raise PerfFault((0, "workloads"), say("no test case has a workload"))
    known = [f"{case.get('name')}/{row.get('name')}" for _, case, row in names]
    if chosen and chosen not in known:
        raise PerfFault(
            (),
            say(
                "there is no test case {chosen}; known are {list}",
                chosen=repr(chosen),
                list=enumerated(known[:20]),
            ),
        )
    number = known.index(chosen) if chosen else 0
    place, case, row = names[number]
    reader = _Reader(case, row, place, templates, PerfScenario(known[number]))
    reader.read()
    if len(known) > 1 and not chosen:
        others = f"the file has {len(known):,} workloads; {known[0]} was taken, and another one can be named"
        reader.found.notes.append(others)
    return reader.found


def _workloads(case: Manifest, place: int) -> list[Manifest]:
    rows: Any = case.get("workloads")
    found = cast("list[Any]", rows) if isinstance(rows, list) else []
    if (rows and not found) or not all(isinstance(each, dict) for each in found):
        raise PerfFault((place, "workloads"), say("expected a list of mappings"))
    return cast("list[Manifest]", found)


class _Reader:
    """Carries the operations of one workload out."""

    def __init__(
        self, case: Manifest, row: Manifest, place: int, templates: Templates, found: PerfScenario
    ) -> None:
        self._case = case
        self._params: Mapping[str, Any] = _mapping(row.get("params"))
        self._place = place
        self._templates = templates
        self._at = 0
        self.found = found
        for gates in (case.get("featureGates"), row.get("featureGates")):
            for name, value in _mapping(gates).items():
                found.gates[name] = bool(value)

    def read(self) -> None:
        """Raises PerfFault."""
        operations = self._case.get("workloadTemplate")
        if not isinstance(operations, list):
            raise PerfFault((self._place, "workloadTemplate"), say("expected a list"))
        for number, each in enumerate(cast("list[Any]", operations)):
            if not isinstance(each, dict):
                raise PerfFault(self._where(number), say("expected a mapping"))
            self._operation(number, cast("Manifest", each))
        self.found.until = self._at + 60 * SECOND

    def _where(self, number: int, *rest: str) -> tuple[str | int, ...]:
        return (self._place, "workloadTemplate", number, *rest)

    def _operation(self, number: int, op: Manifest) -> None:
        code = str(op.get("opcode"))
        if code == "createNodes":
            self._nodes(number, op)
        elif code == "createNamespaces":
            self._namespaces(number, op)
        elif code == "createPods":
            self._pods(number, op)
        elif code == "createAny":
            self.found.objects += self._template(op, "templatePath", self._count(number, op, 1))
        elif code == "sleep":
            self._sleep(number, op)
        elif code not in _IDLE:
            self._unread(code)

    def _unread(self, code: str) -> None:
        note = say(
            "the operation {code} of {name} is not modelled; what it does is missing in the run",
            code=code,
            name=self.found.name,
        )
        if note not in self.found.notes:
            self.found.notes.append(note)

    def _sleep(self, number: int, op: Manifest) -> None:
        given = op.get("duration") or self._param(str(op.get("durationParam") or "").lstrip("$"))
        try:
            self._at += parse_duration(given)
        except ValueError as error:
            raise PerfFault(self._where(number, "duration"), said_by(error)) from None

    def _param(self, name: str) -> Any:
        return self._params.get(name)

    def _count(self, number: int, op: Manifest, default: int | None = None) -> int:
        given = op.get("count")
        named = str(op.get("countParam") or "").lstrip("$")
        if named:
            given = self._param(named)
        given = default if given is None and not named else given
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            message = (
                say("the parameter {named} is no number", named=named)
                if named
                else say("a count is missing")
            )
            raise PerfFault(self._where(number, "countParam" if named else "count"), message)
        made = len(self.found.objects) + len(self.found.steps)
        if made + given > MOST_OBJECTS:
            message = say(
                "more than {most_objects} objects; choose a smaller workload",
                most_objects=grouped(MOST_OBJECTS),
            )
            raise PerfFault(self._where(number), message)
        return given

    def _template(self, op: Manifest, field_name: str, count: int) -> list[Manifest]:
        path = op.get(field_name)
        found = self._templates(path) if isinstance(path, str) else []
        if isinstance(path, str) and not found:
            self._missing(path, "nothing is made from it")
        return [deepcopy(each) for _ in range(count) for each in found]

    def _missing(self, path: str, instead: str) -> None:
        note = say(
            "the template {path} is not among the files; {instead}", path=path, instead=instead
        )
        if note not in self.found.notes:
            self.found.notes.append(note)

    def _based(self, path: Any, base: Manifest, count: int, what: str) -> list[Manifest]:
        """*count* copies of the template at *path*, else of upstream's own base."""
        found = self._templates(path) if isinstance(path, str) else []
        if isinstance(path, str) and not found:
            self._missing(path, f"upstream's base {what} is taken")
        one = found[0] if found else base
        return [deepcopy(one) for _ in range(count)]

    def _nodes(self, number: int, op: Manifest) -> None:
        count = self._count(number, op)
        made = self._based(op.get("nodeTemplatePath"), base_node(), count, "node")
        labels = _mapping(op.get("labelNodePrepareStrategy"))
        key, values = str(labels.get("labelKey") or ""), labels.get("labelValues")
        unique = str(_mapping(op.get("uniqueNodeLabelStrategy")).get("labelKey") or "")
        for place, node in enumerate(made):
            metadata = node["metadata"] = {**_mapping(node.get("metadata"))}
            metadata.pop("generateName", None)
            # Upstream draws the ends of names; numbers keep nodes apart as well.
            metadata["name"] = f"scheduler-perf-{len(self.found.objects):05d}"
            added = {"kubernetes.io/hostname": metadata["name"]}
            if key and isinstance(values, list) and values:
                some = cast("list[Any]", values)
                added[key] = str(some[place % len(some)])
            if unique:
                added[unique] = f"{metadata['name']}-{place}"
            metadata["labels"] = {**_mapping(metadata.get("labels")), **added}
            self.found.objects.append(node)

    def _namespaces(self, number: int, op: Manifest) -> None:
        prefix = str(op.get("prefix") or "namespace")
        path = op.get("namespaceTemplatePath")
        base: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
        made = self._based(path, base, self._count(number, op), "namespace")
        for place, each in enumerate(made):
            each["metadata"] = {**_mapping(each.get("metadata")), "name": f"{prefix}-{place}"}
            self.found.objects.append(each)

    def _pods(self, number: int, op: Manifest) -> None:
        count = self._count(number, op)
        path = op.get("podTemplatePath") or self._case.get("defaultPodTemplatePath")
        namespace = str(op.get("namespace") or f"namespace-{number}")
        for part in ("persistentVolumeTemplatePath", "persistentVolumeClaimTemplatePath"):
            if op.get(part):
                self._unread(f"createPods with {part}")
        for pod in self._based(path, base_pod(), count, "pod"):
            metadata = {**_mapping(pod.get("metadata"))}
            prefix = str(metadata.pop("generateName", None) or metadata.get("name") or "pod-")
            number_of_all = len(self.found.steps)
            name = f"{prefix}{number_of_all:05d}"
            pod["metadata"] = {**metadata, "name": name, "namespace": namespace}
            self.found.steps.append({"at": self._at, "verb": "create", "manifest": pod})
        self._at += 0 if op.get("skipWaitToCompletion") else _WAITS


def _mapping(value: Any) -> Manifest:
    return cast("Manifest", value) if isinstance(value, dict) else {}
