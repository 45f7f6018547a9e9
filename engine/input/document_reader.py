"""Tells what a document is: objects, a list of some, how a run is set up, or nothing of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from engine.api_server.validation.report import Report
from engine.input.cleaning import clean, clean_command
from engine.input.collected import Collected, check
from engine.input.formats.collection import is_collection, read_collection
from engine.input.formats.scheduler_perf import is_perf
from engine.input.header.command_marks import with_command_marks
from engine.input.header.job_marks import with_job_marks
from engine.input.lessons.loading import LoadedLessons, is_lesson
from engine.input.load_result import LoadResult, Manifest, Origin
from engine.input.scenario import LONGEST_NAME, parse_header, parse_recording, with_ends
from engine.input.sources.bundles import base_of
from engine.input.sources.foreign import DISCOVERY, Skipped, foreign_reason
from engine.kernel.sentences import say
from engine.objects.documents import Document, Path
from engine.objects.scripts.reading import ignored, read_scripts
from engine.objects.scripts.script import Script
from engine.objects.values.shown import shown

# The keys of a kube-scheduler-simulator snapshot, whose items have no kind.
_SNAPSHOT = {
    "namespaces": ("Namespace", "v1"),
    "priorityClasses": ("PriorityClass", "scheduling.k8s.io/v1"),
    "storageClasses": ("StorageClass", "storage.k8s.io/v1"),
    "nodes": ("Node", "v1"),
    "pvs": ("PersistentVolume", "v1"),
    "pvcs": ("PersistentVolumeClaim", "v1"),
    "pods": ("Pod", "v1"),
}
# The key of such a snapshot that holds the scheduler's configuration, and its type.
_CONFIGURATION = "schedulerConfig"
_CONFIGURATION_TYPE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_NO_KINDS = say("it is a list whose items have neither apiVersion nor kind")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a document stands. One that was found in a folder or an archive may be anything."""

    origin: Origin
    is_found: bool = False

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.origin.file


@dataclass(slots=True)
class PerfFile:
    """The test cases of a scheduler_perf file, and where they stand."""

    origin: Origin
    cases: list[Manifest]


@dataclass(slots=True)
class DocumentReader:
    """Reads documents into a LoadResult, one by one."""

    result: LoadResult
    collected: Collected
    lessons: LoadedLessons
    is_recording: bool = False
    configuration_path: Path = ()
    perf: list[PerfFile] = field(default_factory=list[PerfFile])

    def read(self, file: str, document: Document, report: Report, *, is_found: bool) -> None:
        """Read one document of a file; what is wrong with it goes into the *report*."""
        spot = Spot(Origin(file, document.index, document.line), is_found)
        raw = document.value
        if isinstance(raw, list):
            self._bare_list(cast("list[Any]", raw), document, spot, report)
        elif isinstance(raw, dict):
            self._mapping(cast("Manifest", raw), document, spot, report)
        elif is_found:
            self._skip(spot, "it is no mapping, as manifests are")
        else:
            report.add((), raw, say("expected a manifest, found {found}", found=shown(raw)))

    def _skip(self, spot: Spot, why: str) -> None:
        self.result.skipped.append(Skipped(spot.file, why, spot.origin.document))

    def _bare_list(self, raw: list[Any], document: Document, spot: Spot, report: Report) -> None:
        """Test cases of scheduler_perf, or objects without a List around them."""
        if is_perf(raw):
            self.perf.append(PerfFile(spot.origin, raw))
            return
        base = base_of(spot.file) if spot.is_found else {}
        if raw and all(_is_typed(each, spot) or (base and isinstance(each, dict)) for each in raw):
            for index, item in enumerate(raw):
                self.item(item, (index,), base, spot, report)
        elif spot.is_found:
            self._skip(spot, _NO_KINDS if raw else "it is an empty list")
        else:
            report.add((), raw, say("expected a manifest, found {found}", found=shown(raw)))

    def _mapping(self, manifest: Manifest, document: Document, spot: Spot, report: Report) -> None:
        kind = manifest.get("kind")
        if kind is None and "steps" in manifest and "initial" in manifest:
            self._scenario(manifest, (), report, recording=True)
            self._items(document, "initial", spot, report, {})
        elif kind is None and _is_snapshot(manifest):
            for key, (item_kind, version) in _SNAPSHOT.items():
                self._items(document, key, spot, report, {"apiVersion": version, "kind": item_kind})
            self._snapshot_configuration(spot, manifest.get(_CONFIGURATION), report)
        elif isinstance(kind, str) and is_list(kind, manifest):
            self._items(document, "items", spot, report, item_base(kind, manifest))
        elif self._is_about_all(manifest, (), spot, report):
            return
        elif version := _server_version(manifest):
            self.result.server_version = version
        elif why := foreign_reason(spot.file, manifest):
            self._skip(spot, why)
        elif spot.is_found and kind is None and isinstance(items := manifest.get("items"), list):
            # A list as Go writes it: without what it is a list of.
            self._bare_list(cast("list[Any]", items), document, spot, report)
        else:
            self.collected.take(manifest, (), spot.origin, report, is_lenient=spot.is_found)

    def _is_about_all(self, manifest: Manifest, path: Path, spot: Spot, report: Report) -> bool:
        """Read a document that is no object of the cluster, alone or in a List; False for an object."""
        if _is_header(manifest):
            self._scenario(manifest, path, report, recording=False)
        elif is_collection(manifest):
            self._collection(manifest, spot, report)
        elif is_lesson(manifest):
            self.lessons.document(manifest, spot.origin, report)
        elif is_configuration(manifest):
            self._configuration(manifest, path, spot.origin, report)
        else:
            return False
        return True

    def _configuration(
        self, manifest: Manifest, path: Path, origin: Origin, report: Report
    ) -> None:
        if self.result.configuration not in (None, manifest):
            report.add(path, None, say("a second scheduler configuration; only one is allowed"))
        self.result.configuration = manifest
        self.result.configuration_origin = origin
        self.configuration_path = path

    def _collection(self, manifest: Manifest, spot: Spot, report: Report) -> None:
        """What a cluster was read by: it says when, and what could not be seen."""
        if self.result.collection is not None:
            report.add((), None, "a second collection; bring one cluster at a time")
            return
        found = self.result.collection = read_collection(manifest, report)
        if found is not None:
            source = spot.file.rpartition("/")[0] or spot.file
            told = f"a collection of context {found.context}, read at {found.read_at}"
            self.result.sources[source] = told

    def _snapshot_configuration(self, spot: Spot, found: Any, report: Report) -> None:
        """The configuration that a snapshot was made under; null where it was not exported."""
        path = (_CONFIGURATION,)
        if found is None:
            return
        if not isinstance(found, dict):
            report.add(path, found, say("expected a mapping, found {found}", found=shown(found)))
            return
        # It has a kind where the simulator has written it, and none where Go has.
        manifest = _CONFIGURATION_TYPE | cast("Manifest", found)
        if not is_configuration(manifest):
            message = say("{found} is no KubeSchedulerConfiguration", found=shown(manifest["kind"]))
            report.add((*path, "kind"), manifest["kind"], message)
            return
        self._configuration(manifest, path, spot.origin, report)

    def _items(
        self, document: Document, key: str, spot: Spot, report: Report, base: Manifest
    ) -> None:
        items = document.value.get(key)
        if items is None:
            return
        if not isinstance(items, list):
            report.add((key,), items, say("expected a list, found {found}", found=shown(items)))
            return
        lines = document.item_lines.get(key, [])
        for index, item in enumerate(cast("list[Any]", items)):
            line = lines[index] if index < len(lines) else 0
            there = replace(spot, origin=replace(spot.origin, line=line))
            item = with_ends(item) if key == "initial" else item
            self.item(item, (key, index), base, there, report)

    def item(self, item: Any, path: Path, base: Manifest, spot: Spot, report: Report) -> None:
        """Read an object of a list, or a list within it; *base* is what it says of all its items."""
        if isinstance(item, dict) and base:
            item = base | cast("Manifest", item)
        found = cast("Manifest", item) if isinstance(item, dict) else {}
        kind, inner = found.get("kind"), found.get("items")
        if isinstance(kind, str) and is_list(kind, found) and isinstance(inner, list):
            for index, each in enumerate(cast("list[Any]", inner)):
                self.item(each, (*path, "items", index), item_base(kind, found), spot, report)
            return
        if not self._is_about_all(found, path, spot, report):
            self.collected.take(item, path, spot.origin, report, is_lenient=spot.is_found)

    def _scenario(self, raw: Manifest, path: Path, report: Report, *, recording: bool) -> None:
        if self.result.scenario is not None:
            report.add(path, None, say("a second scenario header; only one is allowed"))
            return
        before = len(report.problems)
        raw = self._with_names(raw, recording)
        header = parse_recording(raw, report) if recording else parse_header(raw, path, report)
        self._check_steps(raw if recording else raw.get("spec"), path, report, recording)
        if len(report.problems) == before:
            scripts = read_scripts(header.get("containers"), (), ignored)
            self._check_order(scripts, (*path, "spec", "containers"), report)
            self.collected.scripts = scripts
            header["steps"] = [_step_cleaned(step, scripts) for step in header["steps"]]
        self.result.scenario = header
        self.is_recording = recording
        self.result.warnings += _not_simulated(raw) if recording else []

    def _check_order(self, scripts: Sequence[Script], path: Path, report: Report) -> None:
        """Commands of objects that are read before are not known any more."""
        first = next((each for each in scripts if each.command), None)
        if first is not None and self.result.objects:
            message = say("the header has to stand before the objects, whose commands are not kept")
            report.add((*path, first.number, "command"), first.command, message)

    def _with_names(self, raw: Manifest, recording: bool) -> Manifest:
        if recording:
            return {**raw, "steps": self.collected.names.steps_named(raw.get("steps"))}
        spec: Any = raw.get("spec")
        if not isinstance(spec, dict) or "steps" not in spec:
            return raw
        steps: Any = cast("Manifest", spec)["steps"]
        return {**raw, "spec": {**spec, "steps": self.collected.names.steps_named(steps)}}

    def _check_steps(self, holder: Any, path: Path, report: Report, recording: bool) -> None:
        if not isinstance(holder, dict):
            return
        steps = cast("Manifest", holder).get("steps")
        path = ("steps",) if recording else (*path, "spec", "steps")
        for index, step in enumerate(cast("list[Any]", steps) if isinstance(steps, list) else []):
            for verb in ("create", "apply", "replace", "objects") if isinstance(step, dict) else ():
                body = cast("Manifest", step).get(verb)
                if body is None:
                    continue
                where = (*path, index, verb)
                if isinstance(body, list):
                    for number, item in enumerate(cast("list[Any]", body)):
                        check(item, (*where, number), report)
                else:
                    check(body, where, report)


def _is_typed(item: Any, spot: Spot) -> bool:
    """Whether an item of a list says what it is; what nobody has named may be anything."""
    if not isinstance(item, dict) or "kind" not in item:
        return False
    found = cast("Manifest", item)
    return not spot.is_found or ("apiVersion" in found and str(found["kind"]) not in DISCOVERY)


def _is_header(manifest: Manifest) -> bool:
    """Whether this is the header of a scenario."""
    is_named = manifest.get("kind") == "Scenario"
    return is_named and str(manifest.get("apiVersion")).startswith("kscope.dev/")


def _server_version(manifest: Manifest) -> str:
    """What the API server says in `kubectl version`, or in the file of a bundle about that."""
    if "kind" in manifest:
        return ""
    told: Any = manifest.get("serverVersion") or manifest.get("info")
    version = cast("Manifest", told).get("gitVersion") if isinstance(told, dict) else None
    # A scenario keeps it; what is longer than a name is none.
    return version if isinstance(version, str) and len(version) <= LONGEST_NAME else ""


def _is_snapshot(manifest: Manifest) -> bool:
    """Whether this has the lists of a snapshot. The statistics of a kubelet have one of pods, too."""
    found = [manifest[key] for key in _SNAPSHOT if isinstance(manifest.get(key), list)]
    items = [item for each in cast("list[list[Any]]", found) for item in each]
    is_of_objects = any(isinstance(item, dict) and "metadata" in item for item in items)
    return bool(found) and (is_of_objects or not items)


def item_base(kind: str, manifest: Manifest) -> Manifest:
    """What the items of a list of one kind are, where they do not say it themselves."""
    item_kind = kind.removesuffix("List")
    return {"kind": item_kind, "apiVersion": manifest.get("apiVersion")} if item_kind else {}


def _step_cleaned(step: Manifest, scripts: Sequence[Script]) -> Manifest:
    step = with_job_marks(with_command_marks(step, scripts))
    if "manifest" in step:
        return {**step, "manifest": clean(step["manifest"])}
    return clean_command(step)


def is_list(kind: str, manifest: Manifest) -> bool:
    """Whether something of this kind is a list of objects."""
    return kind == "List" or (kind.endswith("List") and "items" in manifest)


def is_configuration(manifest: Manifest) -> bool:
    """Whether this says how a scheduler is set up, rather than what a cluster holds."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if kind == "KubeSchedulerConfiguration":
        return True
    policy = any(key in manifest for key in ("predicates", "priorities", "extenders"))
    return kind == "Policy" and (version in (None, "v1") or policy)


def _not_simulated(recording: Manifest) -> list[str]:
    """What a recording asks for and a run does not do."""
    found: list[str] = []
    fakes = recording.get("fakes")
    for fake, settings in cast("Manifest", fakes or {}).items() if isinstance(fakes, dict) else ():
        for name in cast("Manifest", settings) if isinstance(settings, dict) else ():
            if name.startswith("fail_") and name != "fail_nodes":
                found.append(f"fakes.{fake}.{name} is not simulated")
    return found
