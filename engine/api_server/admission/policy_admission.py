"""Admission policies and webhooks, asked about objects: what they change, refuse and say.

ADR 0062 and ADR 0066.
"""

from collections.abc import Sequence

from engine.api_server.admission.defaults import with_defaults
from engine.api_server.custom.kinds import CustomKinds, formed, stored_form
from engine.api_server.policies.mutating import MutatingPolicies
from engine.api_server.policies.users import JUDGED_ELSEWHERE
from engine.api_server.policies.validating import ValidatingPolicies
from engine.api_server.policies.writes import Write
from engine.api_server.store.held_objects import Objects
from engine.api_server.validation.manifests import check_stored
from engine.api_server.validation.report import Report, aggregate
from engine.api_server.webhooks.mutating import MutatingWebhooks
from engine.api_server.webhooks.servers import Servers
from engine.api_server.webhooks.validating import ValidatingWebhooks
from engine.kernel.errors import Invalid
from engine.objects.custom.objects import CustomObject
from engine.objects.objects import ApiObject, Manifest, from_manifest, group_resource
from engine.objects.scripts.script import Script


class PolicyAdmission:
    """Asks the policies and webhooks among *store*; a request with *is_trial* is only tried.

    The entries *scripts* of the scenario say what servers of webhooks answer.
    """

    __slots__ = (
        "_hooks_validating",
        "_hooks_mutating",
        "_is_trial",
        "_mutating",
        "_validating",
        "custom",
        "warnings",
    )

    def __init__(
        self,
        store: Objects,
        custom: CustomKinds,
        *,
        scripts: Sequence[Script] = (),
        is_trial: bool = False,
    ) -> None:
        self.custom = custom
        self._mutating = MutatingPolicies(store, custom)
        self._validating = ValidatingPolicies(store, custom)
        servers = Servers(store, scripts)
        self._hooks_mutating = MutatingWebhooks(servers, custom)
        self._hooks_validating = ValidatingWebhooks(servers)
        self._is_trial = is_trial
        # What they say to the author of what is written now; None: nobody listens.
        self.warnings: list[str] | None = None

    def guarded(self, old: ApiObject, new: ApiObject | None, by: str) -> ApiObject | None:
        """*new* as component *by* may write it in the place of *old*; None for a deletion.

        Raises Denied, and Invalid, as changed() and check() do.
        """
        asked = (self._mutating, self._validating, self._hooks_mutating, self._hooks_validating)
        if by in JUDGED_ELSEWHERE or not any(one.are_there for one in asked):
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
        """*new* as policies and webhooks change it that is to take the place of *old*, if any.

        Raises Denied where one denies it or fails, and Invalid where what it makes is no such object.
        """
        if not (self._mutating.are_there or self._hooks_mutating.are_there):
            return new
        write = self._write_of(old, new, subresource, by)
        made = self._mutated(write).manifest
        if made is write.new:
            return new
        if isinstance(new, CustomObject):
            custom = self.custom.of(made)
            before = None if old is None else old.raw
            return type(new)(made if custom is None else stored_form(custom, made, before))
        report = Report()
        check_stored(made, (), report)
        if report.problems:
            why = aggregate(report.answers())
            raise Invalid(f'{new.kind} "{new.name}" is invalid: {why}')
        return from_manifest(made)

    def check(
        self,
        old: ApiObject | None,
        new: ApiObject | None,
        subresource: str = "",
        *,
        by: str = "",
    ) -> None:
        """Raises Denied where a policy or a webhook does not allow *new* in the place of *old*.

        Without *old* it is created, without *new* deleted. What they only warn of is added to
        `warnings`.
        """
        is_asked_first = new is None and self._hooks_mutating.are_there
        asked = (self._validating, self._hooks_validating)
        if not (is_asked_first or any(one.are_there for one in asked)):
            return
        write = self._write_of(old, new, subresource, by)
        if is_asked_first:
            # A deletion is not changed before.
            self._called(write)
        self._check(write)

    def check_connection(self, write: Write) -> None:
        """Raises Denied where a policy or a webhook does not let a client connect."""
        if self._hooks_mutating.are_there:
            self._called(write)
        self._check(write)

    def _check(self, write: Write) -> None:
        told = [*self._validating.check(write)] if self._validating.are_there else []
        if self._hooks_validating.are_there:
            self._hooks_validating.check(write, told)
        self._tell(told)

    def _mutated(self, write: Write) -> Write:
        """*write* as policies and webhooks leave it.

        Where anything has changed it, all are asked once more that may be. Upstream:
        apiserver/pkg/admission/reinvocation.go, Admit().
        """
        told: list[str] = []
        made = self._mutating.invoked(write)
        made, calls = self._hooks_mutating.invoked(made, self._filled, told)
        is_changed = made.manifest != write.manifest
        if is_changed:
            again = self._mutating.invoked(made, again=True)
            if again.manifest != made.manifest:
                calls.again.update(calls.reinvocable)
            made, _ = self._hooks_mutating.invoked(again, self._filled, told, calls)
        self._tell(told)
        return made if is_changed else write

    def _called(self, write: Write) -> None:
        """Ask mutating webhooks about what cannot be changed."""
        told: list[str] = []
        self._hooks_mutating.invoked(write, self._filled, told)
        self._tell(told)

    def _filled(self, manifest: Manifest) -> Manifest:
        """An object that a webhook has changed, with its defaults; of a custom kind pruned, too."""
        custom = self.custom.of(manifest)
        return with_defaults(manifest) if custom is None else formed(custom, manifest)[0]

    def _tell(self, told: Sequence[str]) -> None:
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
