"""A scenario: the objects that a cluster begins with, and the steps that change it at set times.

The file format is described in docs/scenario-format.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, cast

from engine.api_server.store.faults import check as check_fault
from engine.api_server.validation.report import LONGEST_ENTITY, Report, text_fault
from engine.input.budget import parse_budget
from engine.input.header.expectations import parse_expectations
from engine.input.header.external import parse_external
from engine.input.header.telling import FIELDS, parse_telling
from engine.input.instants import is_time
from engine.kernel.latency import DEFAULT_LATENCIES, Latency
from engine.kernel.sentences import enumerated, said_by, say
from engine.kernel.units import MILLISECOND, SECOND, nanoseconds_of
from engine.objects.documents import Path
from engine.objects.kinds import NAMESPACED, entity_id, split_entity_id
from engine.objects.openapi.fields import check_patch
from engine.objects.outside import Outside
from engine.objects.scripts.reading import read_scripts
from engine.objects.values.durations import parse_duration
from engine.objects.values.latencies import parse_latency
from engine.objects.values.shown import shown

Manifest = dict[str, Any]

# The verbs of a step; engine.cluster.commands describes each.
STEP_VERBS = (
    "create",
    "apply",
    "patch",
    "resize",
    "delete",
    "evict",
    "cordon",
    "uncordon",
    "delete_pods",
    "evict_pods",
    "stop_kubelet",
    "start_kubelet",
    "fault",
    "stop_scheduler",
    "start_scheduler",
    "replace",
)
# The verbs whose object is a node, which can then be named without "node/".
_NODE_VERBS = (
    "cordon",
    "uncordon",
    "delete_pods",
    "evict_pods",
    "stop_kubelet",
    "start_kubelet",
)
# The fields of a verb's mapping: which object, and what to do with it.
_STEP_FIELDS = (
    *("object", "kind", "apiVersion", "namespace", "name"),
    *("patch", "labels", "grace_seconds", "propagation", "propagationPolicy"),
)
# What a deletion does with dependents: the values of propagationPolicy.
_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_SPEC_FIELDS = (
    "title",
    "question",
    "profile",
    "served",
    "featureGates",
    "seed",
    "instant",
    "duration",
    "latencies",
    "faults",
    "steps",
    "schedulers",
    "budget",
    "containers",
    "externalControllers",
    *FIELDS,
    "expect",
)
# The length of the database's columns for names.
LONGEST_NAME = 200
DEFAULT_UNTIL = 600 * SECOND
_INSTANT = "2026-11-20T12:00:00Z"
# Seeds and seconds are stored in the database, whose integers have 64 bits.
SEEDS = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that is done to the cluster `at` ns; the fields are those of a Command."""

    at: int
    verb: str
    object: str = ""
    manifest: Manifest | None = None
    patch: Manifest | None = None
    labels: Mapping[str, str] | None = None
    grace_seconds: int | None = None
    propagation: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without what is absent."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {name: part for name, part in parts.items() if part not in (None, "")}


class Loaded(Protocol):
    """What from_load needs of a loader.LoadResult."""

    @property
    def ok(self) -> bool: ...
    @property
    def manifests(self) -> list[Manifest]: ...
    @property
    def held(self) -> list[Manifest]: ...
    @property
    def scenario(self) -> dict[str, Any] | None: ...
    @property
    def configuration(self) -> Manifest | None: ...
    @property
    def not_modelled(self) -> list[Manifest]: ...
    @property
    def kept_aside(self) -> Sequence[Kept]: ...
    @property
    def instant(self) -> str: ...
    @property
    def was_stored(self) -> bool: ...
    @property
    def served(self) -> str: ...


class Kept(Protocol):
    """An object that is read and not played."""

    @property
    def manifest(self) -> Manifest: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a run starts from, without its commands. Times are ns of virtual time."""

    name: str
    title: str = ""
    question: str = ""
    objects: tuple[Manifest, ...] = ()
    steps: tuple[Step, ...] = ()
    until: int = DEFAULT_UNTIL
    # Its files name the duration that it would have anyway: see duration_of.
    lasts: bool = False
    latencies: Mapping[str, Latency] = field(default_factory=dict[str, Latency])
    # The version of Kubernetes; "" for the default.
    profile: str = ""
    # The feature gates that differ from the version's defaults.
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    seed: int = 0
    source: str = ""
    # A KubeSchedulerConfiguration or a Policy for the only scheduler, if `schedulers` is empty.
    configuration: Manifest | None = None
    # Several schedulers, each {name, profile, configuration, replicas}.
    schedulers: tuple[Manifest, ...] = ()
    # A client of the Kubernetes API decides in the place of default-scheduler, or else of the first.
    external_scheduler: bool = False
    # Controllers that a client of the Kubernetes API runs: see header.external.
    external_controllers: tuple[str, ...] = ()
    # What a real cluster would do with the files and a run does not: see unmodelled.LeftOut.
    not_modelled: tuple[Manifest, ...] = ()
    # Objects of the files that a run does not hold, but that decide what drivers can do: see Outside.
    outside: tuple[Manifest, ...] = ()
    # The parts of a run's budget that are less than usual: see budget.Budget.
    budget: Mapping[str, int] = field(default_factory=dict[str, int])
    # What clocks show when it begins, in whole seconds of UTC; "" for units.EPOCH.
    instant: str = ""
    # What the API server said of its version, as `kubectl version` prints it; "" where nobody asked.
    served: str = ""
    # How it is told: topic, tags, select, answer, proof; see header/telling.py. No run depends on it.
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # What containers do, as it is written; scripts/reading.py reads it.
    containers: tuple[Manifest, ...] = ()

    @property
    def stands(self) -> bool:
        """Whether it is a cluster as it stands: nothing is to happen to it by itself."""
        return not self.steps

    @classmethod
    def from_load(cls, result: Loaded, *, name: str, source: str = "", at: str = "") -> Self:
        """The scenario of loaded files. Raises ValueError when they have problems.

        A cluster as it stands begins at the newest time in its files, or where these name none, *at*
        the time of their import; what no API server has stored was never observed, and has no time.
        """
        if not result.ok:
            raise ValueError(say("the files have problems; nothing is taken from them"))
        header = result.scenario or {}
        instant = header.get("instant") or result.instant or (at if result.was_stored else "")
        return cls.from_dict(
            {**header, "name": header.get("name") or name, "source": source}
            | {"objects": result.held, "configuration": result.configuration}
            | {"not_modelled": result.not_modelled, "instant": instant}
            | {"outside": Outside.kept(_telling(result)), "served": result.served}
        )

    @property
    def ahead(self) -> int:
        """How much later than EPOCH clocks are when it begins, in ns; see EventLoop."""
        return nanoseconds_of(self.instant) if self.instant else 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that from_dict reads."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "objects": list(self.objects),
            "steps": [step.to_dict() for step in self.steps],
            "until": self.until,
            "latencies": {name: one.to_dict() for name, one in sorted(self.latencies.items())},
            "profile": self.profile,
            "seed": self.seed,
            "source": self.source,
            "configuration": self.configuration,
            "schedulers": list(self.schedulers),
            # Left out when empty: a scenario's digest is that of this form.
            **({"not_modelled": list(self.not_modelled)} if self.not_modelled else {}),
            **({"outside": list(self.outside)} if self.outside else {}),
            **({"budget": dict(self.budget)} if self.budget else {}),
            **({"feature_gates": dict(self.feature_gates)} if self.feature_gates else {}),
            **({"external_scheduler": True} if self.external_scheduler else {}),
            **(
                {"external_controllers": list(self.external_controllers)}
                if self.external_controllers
                else {}
            ),
            **({"instant": self.instant} if self.instant else {}),
            **({"served": self.served} if self.served else {}),
            **({"lasts": True} if self.lasts else {}),
            **({"told": dict(self.told)} if self.told else {}),
            **({"containers": list(self.containers)} if self.containers else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The scenario of its JSON form."""
        parts = dict(data)
        parts["objects"] = tuple(parts.get("objects", ()))
        parts["schedulers"] = tuple(parts.get("schedulers", ()))
        parts["not_modelled"] = tuple(parts.get("not_modelled", ()))
        parts["outside"] = tuple(parts.get("outside", ()))
        parts["external_controllers"] = tuple(parts.get("external_controllers", ()))
        parts["containers"] = tuple(parts.get("containers", ()))
        parts["steps"] = tuple(Step(**step) for step in parts.get("steps", ()))
        parts["latencies"] = {
            name: Latency(**one) for name, one in parts.get("latencies", {}).items()
        }
        return cls(**parts)


def duration_of(header: Mapping[str, Any]) -> int | None:
    """How long a scenario, of this JSON form, lasts by its files, in ns; None where they do not say.

    Such a run plays until then, whether anything is due or not.
    """
    until: int = header.get("until", DEFAULT_UNTIL)
    return until if until != DEFAULT_UNTIL or header.get("lasts") else None


def _telling(result: Loaded) -> Iterator[Manifest]:
    """What tells something of a cluster beside the objects that a run holds."""
    yield from (one.manifest for one in result.kept_aside)
    yield from (each for each in result.manifests if each["kind"] == "Pod")


def parse_header(raw: Manifest, path: Path, report: Report) -> dict[str, Any]:
    """The JSON form (objects left out) of a `kind: Scenario` document."""
    metadata = _mapping(raw.get("metadata"), (*path, "metadata"), report)
    spec_path = (*path, "spec")
    spec = _mapping(raw.get("spec"), spec_path, report)
    _only(spec, _SPEC_FIELDS, spec_path, report)
    header: dict[str, Any] = {}
    for name, holder, where in (
        ("name", metadata, (*path, "metadata")),
        ("title", spec, spec_path),
        ("question", spec, spec_path),
        ("profile", spec, spec_path),
        ("served", spec, spec_path),
    ):
        value = holder.get(name)
        if isinstance(value, str):
            header[name] = value
            _check_length(name, value, (*where, name), report)
        elif value is not None:
            report.add(
                (*where, name), value, say("expected a text, found {found}", found=shown(value))
            )
    where = (*spec_path, "featureGates")
    header["feature_gates"] = _gates(spec.get("featureGates"), where, report)
    seed = spec.get("seed")
    if isinstance(seed, int) and not isinstance(seed, bool):
        header["seed"] = seed
    elif seed is not None:
        report.add(
            (*spec_path, "seed"), seed, say("expected an integer, found {found}", found=shown(seed))
        )
    if header.get("seed", 0) not in SEEDS:
        report.add((*spec_path, "seed"), seed, say("{seed} is not a 64-bit integer", seed=seed))
    _instant(header, spec.get("instant"), (*spec_path, "instant"), report)
    _until(header, spec.get("duration"), (*spec_path, "duration"), report)
    header["budget"] = parse_budget(spec.get("budget"), (*spec_path, "budget"), report)
    header["latencies"] = _latencies(spec.get("latencies"), (*spec_path, "latencies"), report)
    steps = _faults(spec.get("faults"), (*spec_path, "faults"), report)
    for index, item in enumerate(_list(spec.get("steps"), (*spec_path, "steps"), report)):
        steps.extend(_step(item, (*spec_path, "steps", index), report))
    header["steps"] = sorted(steps, key=_at)
    header["told"] = parse_telling(spec, spec_path, report)
    where = (*spec_path, "schedulers")
    schedulers = _list(spec.get("schedulers"), where, report)
    header["schedulers"] = [
        _mapping(one, (*where, index), report) for index, one in enumerate(schedulers)
    ]
    external = parse_external(
        spec.get("externalControllers"), (*spec_path, "externalControllers"), report
    )
    if external:
        header["external_controllers"] = external
    if spec.get("containers") is not None:
        # They are kept as they are written, and read by who needs them.
        read_scripts(spec["containers"], (*spec_path, "containers"), report.add)
        header["containers"] = spec["containers"]
    # What is expected of a run is no part of it: only what was read has it.
    if "expect" in spec:
        header["expect"] = parse_expectations(spec["expect"], (*spec_path, "expect"), report)
    return header


def parse_recording(raw: Manifest, report: Report) -> dict[str, Any]:
    """The JSON form (objects left out) of a recording's scenario: initial, steps[{t, op, …}]."""
    header: dict[str, Any] = {
        name: raw[name] for name in ("name", "title") if isinstance(raw.get(name), str)
    }
    for name, value in header.items():
        _check_length(name, value, (name,), report)
    _until(header, raw.get("duration"), ("duration",), report)
    header["latencies"] = _fakes(raw.get("fakes"), report)
    faults = _recorded_faults(raw, report)
    steps = [{"at": 0, "verb": "fault", "patch": fault} for fault in faults]
    for index, item in enumerate(_list(raw.get("steps"), ("steps",), report)):
        steps.extend(_recorded_step(item, ("steps", index), report))
    header["steps"] = sorted(steps, key=_at)
    return header


def _check_length(name: str, value: str, path: Path, report: Report) -> None:
    fault = text_fault(value, LONGEST_NAME) if name in ("name", "title", "served") else None
    if fault is not None:
        report.add(path, value, fault)


def _gates(raw: Any, path: Path, report: Report) -> dict[str, bool]:
    """The feature gates by name. Which exist depends on the version: see feature_gates.py."""
    gates = _mapping(raw, path, report)
    for name, value in gates.items():
        if not isinstance(value, bool):
            report.add(
                (*path, name),
                value,
                say("expected true or false, found {found}", found=shown(value)),
            )
    return {name: value for name, value in gates.items() if isinstance(value, bool)}


def parse_gates(text: str) -> dict[str, bool]:
    """Feature gates as the flag --feature-gates lists them: `A=true,B=false`.

    Raises ValueError naming the entry that is not one.
    """
    gates: dict[str, bool] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (part.strip() for part in entry.partition("="))
        if value.lower() not in ("true", "false"):
            raise ValueError(
                say("invalid value of {name}: expected {name}=true or {name}=false", name=name)
            )
        gates[name] = value.lower() == "true"
    return gates


# A recording was made with fake components. Their delays, and the latency that each becomes.
_FAKES = {
    ("provisioner", "delay"): "provision",
    ("provisioner", "delete_delay"): "delete_volume",
    ("attacher", "attach_delay"): "attach",
    ("attacher", "detach_delay"): "detach",
    ("kubelet", "stop_delay"): "stop",
    ("resizer", "delay"): "modify",
}


def _fakes(raw: Any, report: Report) -> dict[str, Any]:
    """The delays of a recording's fakes as latencies; `_recorded_faults` reads their faults."""
    fakes = _mapping(raw, ("fakes",), report)
    delays: dict[str, Any] = {}
    for (fake, field_name), latency in _FAKES.items():
        path: Path = ("fakes", fake)
        delay = _mapping(fakes.get(fake), path, report).get(field_name)
        if delay is not None:
            delays[latency] = _read_latency(delay, (*path, field_name), report)
    at_once = Latency("fixed", 0).to_dict()
    if "provisioner" not in fakes:
        # Then only in-tree plugins of the controller create and delete volumes: directories.
        delays |= {"provision": at_once, "delete_volume": at_once}
    # The fake kubelet mounts nothing. Its pods run after one second. A pod that is not restarted
    # succeeds two seconds later, and so does the pod of a recycler.
    delays |= dict.fromkeys(("mount_device", "mount", "unmount", "unmount_device"), at_once)
    delays["image_pull"] = Latency("fixed", 700 * MILLISECOND).to_dict()
    delays["run"] = delays["recycle"] = Latency("fixed", 2 * SECOND).to_dict()
    return {name: delay for name, delay in delays.items() if delay}


def _recorded_faults(raw: Manifest, report: Report) -> list[dict[str, str]]:
    """The faults of a recording's fakes, and one for each CSI sidecar that it did not run."""
    path: Path = ("fakes", "provisioner")
    # _fakes() has already reported these two if they are no mappings.
    fakes = _mapping(raw.get("fakes"), ("fakes",), Report())
    known = _mapping(fakes.get("provisioner"), path, Report())
    served = known.get("driver")
    nodes = _list(known.get("fail_nodes"), (*path, "fail_nodes"), report)
    zones = _mapping(known.get("immediate_zone"), (*path, "immediate_zone"), report)
    classes = [each for each in _recorded_objects(raw) if each.get("kind") == "StorageClass"]
    drivers = dict.fromkeys(str(each.get("provisioner")) for each in classes)
    faults = [{"absent": driver} for driver in drivers if driver != served]
    if served is None:
        return faults
    faults += [{"no_resizer": str(served)}, {"anywhere": str(served)}]
    faults += [{"full": str(node)} for node in nodes]
    faults += [{"place": f"default/{claim}", "zone": str(zone)} for claim, zone in zones.items()]
    return faults


def _recorded_objects(raw: Manifest) -> list[Manifest]:
    """What is created at first and by the steps."""
    lists: list[Any] = [raw.get("initial")]
    steps: Any = raw.get("steps")
    for step in cast("list[Any]", steps if isinstance(steps, list) else []):
        if isinstance(step, dict):
            lists.append(cast("Manifest", step).get("objects"))
    return [
        cast("Manifest", each)
        for found in lists
        for each in cast("list[Any]", found if isinstance(found, list) else [])
        if isinstance(each, dict)
    ]


def _faults(raw: Any, path: Path, report: Report) -> list[dict[str, Any]]:
    """Faults that hold from the beginning: steps at 0, or at the `at` of their own."""
    steps: list[dict[str, Any]] = []
    for index, item in enumerate(_list(raw, path, report)):
        where = (*path, index)
        fault = _mapping(item, where, report)
        if fault or isinstance(item, dict):
            rest = {name: value for name, value in fault.items() if name != "at"}
            at = _time(fault.get("at", 0), where, report)
            steps.append({"at": at, "verb": "fault", "patch": _fault(rest, where, report)})
    return steps


def _fault(body: Any, path: Path, report: Report) -> Any:
    """Returns *body*; reports what is wrong with it, at the field in question."""
    wrong = check_fault(body)
    if wrong is not None:
        report.add((*path, wrong.field) if wrong.field else path, wrong.value, wrong.why)
    return body


def _time(value: Any, path: Path, report: Report) -> int:
    """When a step or a fault comes, in ns. Reports a value that cannot be read, and returns 0."""
    try:
        return parse_duration(value)
    except ValueError as error:
        report.add((*path, "at"), value, said_by(error))
        return 0


def _recorded_step(item: Any, path: Path, report: Report) -> list[dict[str, Any]]:
    """A recording's step as steps of a scenario."""
    step = _mapping(item, path, report)
    op = step.get("op")
    common = {"at": step.get("t")}
    if op == "note":
        return []
    if op in ("create", "apply"):
        objects = step.get("objects")
        if isinstance(objects, list):
            objects = [with_ends(one) for one in cast("list[Any]", objects)]
        return _step({**common, op: objects}, path, report)
    if op == "patch":
        return _step({**common, op: {**step, "patch": with_ends(step.get("patch"))}}, path, report)
    if op in ("delete", "cordon", "uncordon", "evict"):
        return _step({**common, op: step}, path, report)
    if op == "evict-first":
        first = {"object": "pod/default", "labels": {"app": step.get("app")}}
        return _step({**common, "evict": first}, path, report)
    if op == "kubelet":
        return [
            one
            for key, verb in (("kill", "stop_kubelet"), ("revive", "start_kubelet"))
            for node in _list(step.get(key), (*path, key), report)
            for one in _step({**common, verb: node}, path, report)
        ]
    if op == "delete-pods-on-node":
        verb = "evict_pods" if step.get("evict") else "delete_pods"
        return _step({**common, verb: step.get("node")}, path, report)
    if op == "force-delete-on-node":
        body = {"object": f"node/{step.get('node')}", "grace_seconds": 0}
        return _step({**common, "delete_pods": body}, path, report)
    report.add(
        (*path, "op"), op, say("{found} is not an operation of a recording", found=shown(op))
    )
    return []


def with_ends(manifest: Any) -> Any:
    """*manifest* with the simulated kubelet's annotations in place of those of a recording's."""
    if not isinstance(manifest, dict):
        return manifest
    found = {
        name: with_ends(value) if name in _AROUND_ANNOTATIONS else value
        for name, value in cast("dict[str, Any]", manifest).items()
    }
    annotations = found.get("annotations")
    if isinstance(annotations, dict):
        given = cast("dict[str, Any]", annotations)
        ends = {ours: given[fake] for fake, ours in _RECORDED_ENDS.items() if fake in given}
        if "fake/runs" in given:
            ends["kscope.dev/run-for"] = "forever"
        found["annotations"] = {**given, **ends}
    return found


_AROUND_ANNOTATIONS = ("metadata", "spec", "template", "jobTemplate")
_RECORDED_ENDS = {"fake/exit-code": "kscope.dev/exit-code"}


def _step(item: Any, path: Path, report: Report) -> list[dict[str, Any]]:
    step = _mapping(item, path, report)
    at = _time(step.get("at"), path, report)
    verbs = [verb for verb in STEP_VERBS if verb in step]
    if len(verbs) != 1:
        report.add(
            path, item, say("a step needs exactly one of {list}", list=enumerated(STEP_VERBS))
        )
        return []
    verb = verbs[0]
    body, where = step[verb], (*path, verb)
    _only(step, ("at", verb), path, report)
    if body is None:
        report.add(where, None, say("is missing"))
        return []
    if verb in ("create", "apply", "replace"):
        manifests = cast("list[Any]", body) if isinstance(body, list) else [body]
        return [{"at": at, "verb": verb, "manifest": manifest} for manifest in manifests]
    if verb == "fault":
        return [{"at": at, "verb": verb, "patch": _fault(body, where, report)}]
    found: dict[str, Any] = {"at": at, "verb": verb, "object": _object(verb, body, where, report)}
    parts = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    # In a recording one mapping has the operation and its fields, so `body` has other fields.
    if "op" not in parts:
        _only(parts, _STEP_FIELDS, where, report)
    if verb in ("patch", "resize"):
        patch = parts.get("patch")
        if patch is None:
            report.add((*where, "patch"), None, say("is missing"))
        found["patch"] = _mapping(patch, (*where, "patch"), report)
        kind = split_entity_id(found["object"])[0]
        report.add_types((*where, "patch"), check_patch(kind, found["patch"]))
    if verb == "evict" and parts.get("labels") is not None:
        found["labels"] = _labels(parts["labels"], (*where, "labels"), report)
    grace = parts.get("grace_seconds")
    if grace is not None:
        fault = grace_fault(grace)
        if fault:
            report.add((*where, "grace_seconds"), grace, fault)
        found["grace_seconds"] = grace
    propagation = parts.get("propagation", parts.get("propagationPolicy"))
    if verb == "delete" and propagation is not None:
        if propagation not in _PROPAGATIONS:
            known = enumerated([*_PROPAGATIONS])
            message = say("{found} is not one of {known}", found=shown(propagation), known=known)
            report.add((*where, "propagation"), propagation, message)
        found["propagation"] = propagation
    return [found]


def _labels(raw: Any, path: Path, report: Report) -> dict[str, str]:
    """The labels that choose an object. Values that are no texts are reported and left out."""
    labels = _mapping(raw, path, report)
    for name, value in labels.items():
        if not isinstance(value, str):
            report.add(
                (*path, name), value, say("expected a text, found {found}", found=shown(value))
            )
    return {name: value for name, value in labels.items() if isinstance(value, str)}


def grace_fault(grace: Any) -> str:
    """Why this is no grace period, in seconds, or ""."""
    if isinstance(grace, bool) or not isinstance(grace, int):
        return say("expected a number of seconds, found {found}", found=shown(grace))
    if grace < 0:
        return say("{grace} is less than 0", grace=grace)
    return f"{grace} is not a 64-bit integer" if grace not in SEEDS else ""


def _only(found: Manifest, known: tuple[str, ...], path: Path, report: Report) -> None:
    for name, value in found.items():
        if name not in known:
            report.add(
                (*path, name), value, say("unknown field; known are {list}", list=enumerated(known))
            )


def _object(verb: str, body: Any, path: Path, report: Report) -> str:
    """ "node/n1", or {kind, namespace, name}; verbs for nodes may give the name alone."""
    if isinstance(body, str):
        name = f"node/{body}" if verb in _NODE_VERBS and "/" not in body else body
        return _entity(name, body, path, report)
    parts = _mapping(body, path, report)
    if isinstance(parts.get("object"), str):
        return _entity(parts["object"], parts["object"], (*path, "object"), report)
    kind, name = parts.get("kind"), parts.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        report.add(path, body, say("needs an object like node/n1, or kind and name"))
        return ""
    key = f"{parts.get('namespace') or 'default'}/{name}" if kind in NAMESPACED else name
    return _entity(entity_id(kind, key), name, path, report)


def _entity(name: str, found: str, path: Path, report: Report) -> str:
    prefix, _, key = name.partition("/")
    if not prefix or not key:
        report.add(
            path,
            found,
            say("{found} is not an object like node/n1 or pod/default/web", found=shown(found)),
        )
    fault = text_fault(name, LONGEST_ENTITY)
    if fault is not None:
        report.add(path, found, fault)
    return name


def _latencies(raw: Any, path: Path, report: Report) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in _mapping(raw, path, report).items():
        if name not in DEFAULT_LATENCIES:
            known = enumerated([*DEFAULT_LATENCIES])
            report.add((*path, name), value, say("unknown latency; known are {known}", known=known))
            continue
        found[name] = _read_latency(value, (*path, name), report)
    return found


def _read_latency(value: Any, path: Path, report: Report) -> dict[str, Any]:
    try:
        return parse_latency(value).to_dict()
    except ValueError as error:
        report.add(path, value, said_by(error))
        return {}


def _instant(header: dict[str, Any], value: Any, path: Path, report: Report) -> None:
    if value is None:
        return
    if is_time(value) and len(value) == len(_INSTANT):
        header["instant"] = value
    else:
        report.add(
            path,
            value,
            say(
                "expected a time in whole seconds of UTC, like {example}; found {found}",
                example=_INSTANT,
                found=shown(value),
            ),
        )


def _until(header: dict[str, Any], value: Any, path: Path, report: Report) -> None:
    if value is None:
        return
    try:
        header["until"] = parse_duration(value)
        if header["until"] == DEFAULT_UNTIL:
            header["lasts"] = True
    except ValueError as error:
        report.add(path, value, said_by(error))


def _mapping(value: Any, path: Path, report: Report) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
        return {}
    return cast("dict[str, Any]", value)


def _list(value: Any, path: Path, report: Report) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        report.add(path, value, say("expected a list, found {found}", found=shown(value)))
        return []
    return cast("list[Any]", value)


def _at(step: dict[str, Any]) -> int:
    return step["at"]
