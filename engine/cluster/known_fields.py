"""What a run's API server takes of the objects that users give it: the fields that it knows."""

from engine.api_server.custom.kinds import CustomKinds, CustomScenario, stored_form
from engine.api_server.validation.kinds import is_known
from engine.api_server.validation.manifests import check_manifest, check_stored
from engine.api_server.validation.report import Report, aggregate
from engine.api_server.validation.rules import subdomain
from engine.input.cleaning import clean, without_nulls, without_values
from engine.kernel.errors import Invalid
from engine.kernel.recorder import Recorder
from engine.objects.custom.objects import CustomObject
from engine.objects.documents import Path, show_path
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.fields import check_fields, without
from engine.objects.openapi.findings import Findings
from engine.objects.openapi.near import left_out_note
from engine.objects.values.shown import shown

LEFT_OUT = "FieldsLeftOut"


class KnownFields:
    """Leaves out the fields that a version of Kubernetes does not have, and says so.

    Of an object of a custom kind those that its schema does not have. `notes` are of the command that
    is being carried out, in words for its author.
    """

    __slots__ = ("_recorder", "_version", "custom", "notes")

    def __init__(self, version: str, recorder: Recorder, custom: CustomKinds) -> None:
        self.custom = custom
        self._version = version
        self._recorder = recorder
        self.notes: list[str] = []

    def parsed(self, manifest: Manifest) -> ApiObject:
        """The object of a manifest, as it is to be stored. Raises ApiError as `checked` does."""
        definition = self.custom.of(manifest)
        if definition is None:
            return from_manifest(clean(self.checked(manifest), keeps_copy=True))
        _check_custom(manifest)
        cleaned = without_values(without_nulls(manifest), manifest["kind"], keeps_copy=True)
        return CustomObject(self.custom.checked(definition, cleaned))

    def checked(self, manifest: Manifest, old: Manifest | None = None) -> Manifest:
        """*manifest* without unknown fields, except for those that the stored object *old* has.

        Raises Invalid for values that the API server would not store: engines cannot read them.
        """
        report = _check(manifest, self._version)
        if not report.unknown:
            return manifest
        before = {each.path for each in self._found(old).unknown} if old else set[Path]()
        found = self._found(manifest)
        added = [each for each in found.unknown if each.path not in before]
        self.notes += [f"{show_path(each.path)}: {left_out_note(found, each)}" for each in added]
        return without(manifest, [each.path for each in added])

    def changed(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """The same of the object *new*, which is to be written over *old*."""
        if isinstance(new, CustomObject):
            definition = self.custom.of(new.raw)
            _check_custom(new.raw)
            if definition is None:
                return new
            return CustomObject(stored_form(definition, new.raw, old.raw))
        kept = self.checked(new.raw, old.raw)
        return new if kept is new.raw else from_manifest(kept)

    def initial(self, manifest: Manifest, custom: CustomScenario) -> ApiObject:
        """The same of an object that a run begins with, with the kinds that others of them add."""
        definition = custom.of(manifest)
        if definition is not None:
            return CustomObject(stored_form(definition, manifest))
        return from_manifest(self._initial(manifest))

    def _initial(self, manifest: Manifest) -> Manifest:
        """Those that were loaded have no field that the newest version does not know."""
        if self._version == NEWEST:
            return manifest
        found = self._found(manifest)
        if not found.unknown:
            return manifest
        self.notes = [
            f"{show_path(one.path)}: {left_out_note(found, one)}" for one in found.unknown
        ]
        self.tell(manifest, "scenario")
        return without(manifest, [each.path for each in found.unknown])

    def tell(self, subject: Manifest | str, by: str) -> None:
        """Record what *by* gave and was left out: of a manifest, or of the object of that id."""
        if not self.notes:
            return
        entity = subject if isinstance(subject, str) else from_manifest(clean(subject)).id
        self._recorder.record(LEFT_OUT, entity, by, "; ".join(self.notes), None)

    def _found(self, manifest: Manifest) -> Findings:
        return check_fields(manifest, self._version, is_simulated=is_known(manifest))


def _check(manifest: Manifest, version: str) -> Report:
    """What was found in a manifest. Raises Invalid where something in it is wrong."""
    report = Report()
    check_stored(manifest, (), report, version)
    _raise_problems(manifest, report)
    return report


def _check_custom(manifest: Manifest) -> None:
    """Raises Invalid where something is wrong with the metadata of an object of a custom kind."""
    report = Report()
    check_manifest(manifest, (), report)
    subdomain(manifest["metadata"]["name"], ("metadata", "name"), report)
    _raise_problems(manifest, report)


def _raise_problems(manifest: Manifest, report: Report) -> None:
    if report.problems:
        kind, name = manifest["kind"], shown(manifest["metadata"]["name"])
        raise Invalid(f"{kind} {name} is invalid: {aggregate(report.answers())}")
