"""Admission policies, asked about objects: what they change, refuse and say (ADR 0062)."""

from engine.api_server.admission.defaults import with_defaults
from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.mutating import MutatingPolicies
from engine.api_server.policies.users import JUDGED_ELSEWHERE
from engine.api_server.policies.validating import ValidatingPolicies
from engine.api_server.policies.writes import Write
from engine.api_server.store.held_objects import Objects
from engine.api_server.validation.manifests import check_stored
from engine.api_server.validation.report import Report, aggregate
from engine.kernel.errors import Invalid
from engine.objects.custom.objects import CustomObject
from engine.objects.objects import ApiObject, from_manifest, group_resource


class PolicyAdmission:
    """Asks the policies among *store*; a request with *is_trial* is only tried."""

    __slots__ = ("_is_trial", "_mutating", "_validating", "custom", "warnings")

    def __init__(self, store: Objects, custom: CustomKinds, *, is_trial: bool = False) -> None:
        self.custom = custom
        self._mutating = MutatingPolicies(store, custom)
        self._validating = ValidatingPolicies(store, custom)
        self._is_trial = is_trial
        # What policies say to the author of what is written now; None: nobody listens.
        self.warnings: list[str] | None = None

    def guarded(self, old: ApiObject, new: ApiObject | None, by: str) -> ApiObject | None:
        """*new* as policies let component *by* write it in the place of *old*; None for a deletion.

        Raises Denied, and Invalid, as changed() and check() do.
        """
        if by in JUDGED_ELSEWHERE or not (self._mutating.are_there or self._validating.are_there):
            return new
        if new is None:
            self.check(old, None, by=by)
            return None
        part = "status" if _changes_status_alone(old, new) else ""
        new = self.changed(old, new, part, by=by)
        self.check(old, new, part, by=by)
        return new

    def changed(
        self, old: ApiObject | None, new: ApiObject, subresource: str = "", *, by: str = ""
    ) -> ApiObject:
        """*new* as the admission policies change it that is to take the place of *old*, if any.

        Raises Denied where a policy fails, and Invalid where what it makes is no such object.
        """
        if not self._mutating.are_there:
            return new
        write = self._write_of(old, new, subresource, by)
        made = self._mutating.changed(write)
        if made is write.new:
            return new
        report = Report()
        check_stored(made, (), report)
        if report.problems:
            why = aggregate(report.answers())
            raise Invalid(f'{new.kind} "{new.name}" is invalid: {why}')
        return from_manifest(made) if not isinstance(new, CustomObject) else type(new)(made)

    def check(
        self,
        old: ApiObject | None,
        new: ApiObject | None,
        subresource: str = "",
        *,
        by: str = "",
    ) -> None:
        """Raises Denied where an admission policy does not allow *new* in the place of *old*.

        Without *old* it is created, without *new* deleted. What policies only warn of is added to
        `warnings`.
        """
        if self._validating.are_there:
            told = [*self._validating.check(self._write_of(old, new, subresource, by))]
            if self.warnings is not None:
                self.warnings += told

    def _write_of(
        self, old: ApiObject | None, new: ApiObject | None, subresource: str, by: str
    ) -> Write:
        found = new or old
        assert found is not None
        custom = self.custom.of_object(found)
        shown = [one if custom or one is None else with_defaults(one.raw) for one in (old, new)]
        before, after = (one.raw if isinstance(one, ApiObject) else one for one in shown)
        versions: tuple[str, ...] = ()
        if custom is None:
            resource = group_resource(found).partition(".")[0]
        else:
            resource = custom.plural
            versions = tuple(one.api_version for one in custom.versions)
        return Write(
            resource=resource,
            subresource=subresource,
            new=after,
            old=before,
            versions=versions,
            by=by,
            is_trial=self._is_trial,
        )


def _changes_status_alone(old: ApiObject, new: ApiObject) -> bool:
    """Whether a component writes the part `status`, which has rules of its own."""
    kept = {**old.metadata, "resourceVersion": new.metadata.get("resourceVersion")}
    parts = {name for name in (*old.raw, *new.raw) if old.raw.get(name) != new.raw.get(name)}
    return parts <= {"status", "metadata"} and "status" in parts and kept == new.metadata
