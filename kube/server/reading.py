"""What a request reads, and in which form: whole, as metadata, or as the Table that kubectl prints."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from engine.kernel.units import EPOCH, MICROSECOND, SECOND
from engine.objects.objects import Manifest
from kscope.runs.hidden_values import without_hidden
from kscope.runs.served.runs import Run
from kscope.runs.served.versions import Version
from kube.addresses import Target
from kube.apply.fields import tree_in_order
from kube.defaults import defaulted
from kube.forms import Form, form_of
from kube.resources import Resource
from kube.selecting import Selection
from kube.server.answers import answered
from kube.server.list_options import ListOptions, version_of
from kube.server.objects import leases
from kube.server.objects.hosts import NO_HOSTS, Hosts
from kube.server.objects.instants import Instant
from kube.server.objects.network import with_addresses
from kube.server.objects.secrets import Secrets
from kube.status import bad_request, not_found, too_large_version
from kube.tables import Rows, partial
from kube.timestamps import shifted, timestamps_of

Item = Callable[[Manifest], Manifest]


@dataclass(frozen=True, slots=True)
class Read:
    """What a client wants to read, and in which form.

    Timestamps go out *shift* seconds later than the clock of the run has them, which is *ahead*
    nanoseconds of virtual time. With *hides*, values that may be secret are left out.
    """

    request: Request
    target: Target
    form: Form
    selection: Selection
    options: ListOptions
    shift: int = 0
    ahead: int = 0
    hides: bool = False
    hosts: Hosts = NO_HOSTS
    """The addresses of nodes by their names."""
    secrets: Secrets | None = None
    """The data of Secrets, as far as the client is shown them."""

    @classmethod
    def of(
        cls,
        request: Request,
        target: Target,
        shift: int = 0,
        ahead: int = 0,
        *,
        hides: bool = False,
        hosts: Hosts = NO_HOSTS,
        secrets: Secrets | None = None,
    ) -> "Read":
        """What *request* asks for. Raises ApiError for options and selectors that make no sense."""
        query = request.query_params
        if target.is_collection:
            options = ListOptions.of(query)
        else:
            options = ListOptions(version=version_of(query.get("resourceVersion", "")))
        selection = Selection.parse(
            target.resource, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        form = form_of(request.headers.get("accept", ""))
        return cls(request, target, form, selection, options, shift, ahead, hides, hosts, secrets)

    async def opened(self, versions: Sequence[Version]) -> Sequence[Version]:
        """The same versions, those of Secrets with their data where the client is shown them.

        From now on the hosts of pods among them are known.
        """
        await self.hosts.reach(max((one.seq for one in versions), default=0))
        if self.secrets is None:
            return versions
        return await self.secrets.shown(self.target.resource, versions)

    def shown(self, version: Version) -> Manifest:
        """The object as the API gives it to this client."""
        manifest = shown(self.target.resource, version, self.shift, self.hosts)
        return without_hidden(manifest) if self.hides else manifest

    def rows(self, now: int) -> Rows:
        """Makes rows of objects, for a client that wants a Table at virtual time *now*."""
        included = self.request.query_params.get("includeObject") or "Metadata"
        now += self.ahead + self.shift * SECOND
        return Rows(self.target.resource, self.form.version, now, included)

    def item(self, now: int) -> Item:
        """What becomes of each object in the form that is wanted."""
        if self.form.is_table:
            return self.rows(now).row
        if self.form.is_partial:
            return lambda one: partial(one, self.form.version)
        return lambda one: one

    def check_version(self, newest: int) -> None:
        """Raises ApiError where the version that the client knows is still to come."""
        if self.options.version > newest:
            raise too_large_version(self.options.version, newest)

    def head(self, instant: Instant) -> tuple[Manifest, str]:
        """A list without its objects, and the field that they come into."""
        version = str(instant.seq)
        resource = self.target.resource
        if self.form.is_table:
            return self.rows(instant.at).head(version), "rows"
        kind, group_version = resource.list_kind, resource.api_version
        if self.form.is_partial:
            kind, group_version = "PartialObjectMetadataList", f"meta.k8s.io/{self.form.version}"
        metadata = {"resourceVersion": version}
        return {"kind": kind, "apiVersion": group_version, "metadata": metadata}, "items"


# Upstream: time.ParseDuration().
_DURATION = re.compile(r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")


def check_timeout(given: str) -> None:
    """Raises ApiError for a `timeout` that is no duration; any other has no effect here.

    Upstream: apiserver/pkg/endpoints/filters/request_deadline.go, parseTimeout().
    """
    if given and not _DURATION.fullmatch(given):
        raise bad_request(
            f'invalid timeout specified in the request URL - time: invalid duration "{given}"'
        )


def shown(
    resource: Resource, version: Version, shift: int = 0, hosts: Hosts = NO_HOSTS
) -> Manifest:
    """The object as the API gives it: with defaults, with its version and with its addresses.

    Its timestamps are *shift* seconds later than the clock of the run has them; *hosts* are the
    addresses of nodes.
    """
    manifest = defaulted(resource, version.manifest)
    manifest = with_addresses(resource.kind, manifest, version, hosts)
    metadata = manifest["metadata"]
    metadata["resourceVersion"] = str(version.seq)
    if managers := metadata.get("managedFields"):
        metadata["managedFields"] = [
            {**one, "fieldsV1": tree_in_order(one.get("fieldsV1") or {})} for one in managers
        ]
    return shifted(timestamps_of(resource), manifest, shift)


def shift_of(run: Run) -> int:
    """The seconds from a run's clock to that of its clients, who saw it begin, or fork, at once.

    None, where the run has the time of the cluster that it was brought from.
    """
    if run.ahead is not None:
        return 0
    forked = timedelta(microseconds=(run.forked_at or 0) // MICROSECOND)
    return int((run.created - EPOCH - forked).total_seconds())


async def object_read(read: Read, instant: Instant) -> Response:
    """The object that is asked for. Raises ApiError when there is none."""
    manifest = await found_object(read, instant)
    if not read.form.is_table:
        return answered(read.item(instant.at)(manifest))
    rows = read.rows(instant.at)
    head = rows.head(manifest["metadata"]["resourceVersion"])
    return answered({**head, "rows": [rows.row(manifest)]})


async def found_object(read: Read, instant: Instant) -> Manifest:
    """The object that is asked for. Raises ApiError when there is none."""
    target = read.target
    if target.resource.kind != leases.KIND:  # the versions of Leases are ahead of the run's
        read.check_version(instant.seq)
    found = await instant.find(target.resource, target.namespace, target.name)
    if found is None:
        raise not_found(target.resource, target.name)
    (version,) = await read.opened([found])
    return read.shown(version)
