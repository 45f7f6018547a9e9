"""Admission policies and webhooks of a run, asked about requests that write nothing.

They are only tried (`dryRun=All`), or connect to a container. The engine asks about all that is
written, and is not told of what is not. Here the same code is given the same policies and webhooks,
with what they look at, read from the database.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from starlette.requests import Request

from engine.api_server.admission.policy_admission import PolicyAdmission
from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.told import warnings_in
from engine.api_server.policies.writes import Write
from engine.api_server.store.held_objects import HeldObjects
from engine.api_server.webhooks.servers import BEHIND, answer_webhooks
from engine.kernel.errors import ApiError as EngineError
from engine.objects.custom.definition import DEFINITION
from engine.objects.custom.objects import CustomObject
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.objects.scripts.script import Script
from kube.addresses import Target
from kube.resources import NAMESPACES, SERVED, Resource
from kube.server.objects.instants import Now, now
from kube.server.objects.secrets import is_secret
from kube.server.writes.bodies import problems_of, warn
from kube.server.writes.engine_line import refusal_of
from kube.server.writes.heavy import computed
from kube.server.writes.run_objects import RunObjects

_POLICIES: Final = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
_CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_PARTS: Final = ("status", "resize")


async def judged(
    objects: RunObjects, target: Target, old: Manifest | None, new: Manifest | None
) -> Manifest | None:
    """*new* as the run's policies and webhooks leave it in the place of *old*; None for a deletion.

    What they warn of is added to the answer. Raises ApiError where one does not allow it.
    """
    scripts = await objects.engine.scripts()
    async with now(objects.links, objects.run.pk) as instant:
        held = await _held(instant, target, scripts)
    if held is None:
        return new
    made = old, new
    return await computed(objects.request, [*made], _judged, objects, held, scripts, target, *made)


async def check_connection(
    request: Request, instant: Now, target: Target, scripts: Sequence[Script]
) -> None:
    """Raises ApiError where policies or webhooks do not let a client connect to a container.

    Upstream: apiserver/pkg/endpoints/handlers/rest.go, ConnectResource().
    """
    part = target.resource.subresource(target.subresource)
    held = await _held(instant, target, scripts)
    if held is None or part is None:
        return
    query = request.query_params
    # Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PodExecOptions().
    options: Manifest = {"kind": part.kind, "apiVersion": "v1", "stdout": True, "stderr": True}
    options |= {name: True for name in ("stdin", "tty") if query.get(name) in ("true", "1")}
    if query.get("container"):
        options["container"] = query["container"]
    if query.getlist("command"):
        options["command"] = query.getlist("command")
    write = Write(
        resource=target.resource.plural,
        subresource=target.subresource,
        new=options,
        old=None,
        connects_to=(target.namespace, target.name),
    )
    policies = PolicyAdmission(held, CustomKinds(held), scripts=scripts)
    try:
        await computed(request, options, policies.check_connection, write)
    except EngineError as refusal:
        raise refusal_of(f"{refusal.reason}: {refusal}", target) from None


def _judged(
    objects: RunObjects,
    held: HeldObjects,
    scripts: Sequence[Script],
    target: Target,
    old: Manifest | None,
    new: Manifest | None,
) -> Manifest | None:
    policies = PolicyAdmission(held, CustomKinds(held), scripts=scripts, is_trial=True)
    policies.warnings = []
    part = target.subresource if target.subresource in _PARTS else ""
    before, after = (None if one is None else _object(target, one) for one in (old, new))
    try:
        if after is not None and part != "resize":
            after = policies.changed(before, after, part)
        policies.check(before, after, part)
    except EngineError as refusal:
        raise refusal_of(f"{refusal.reason}: {refusal}", target) from None
    warned = [*warnings_in(policies.warnings)]
    if warned:
        warn(objects.request, [*problems_of(objects.request), *warned])
    if after is None or new is None:
        return None
    # The values of a Secret are never shown to policies, and stay.
    return {**{name: new[name] for name in _VALUES if name in new}, **after.raw}


_VALUES: Final = ("data", "stringData")


def _object(target: Target, manifest: Manifest) -> ApiObject:
    if target.resource.custom is not None:
        return CustomObject(manifest)
    if is_secret(target.resource):
        manifest = {name: part for name, part in manifest.items() if name not in _VALUES}
    return from_manifest(manifest)


async def _held(instant: Now, target: Target, scripts: Sequence[Script]) -> HeldObjects | None:
    """What policies and webhooks look at: themselves, the namespace, what they are given; None for none."""
    bindings = await _of_kinds(instant, (f"{kind}Binding" for kind in _POLICIES))
    hooks = await _of_kinds(instant, _CONFIGURATIONS) if answer_webhooks(scripts) else []
    if not bindings and not hooks:
        return None
    policies = await _of_kinds(instant, _POLICIES)
    held = [*bindings, *policies, *await _of_kinds(instant, [DEFINITION])]
    held += [*hooks, *await _servers(instant, hooks)]
    custom = CustomKinds(HeldObjects(held))
    wanted = dict.fromkeys(
        (str(kind.get("apiVersion")), str(kind.get("kind")))
        for kind in (section(one.spec, "paramKind") for one in policies)
        if kind
    )
    for api_version, kind in wanted:
        definition = custom.definition_of(api_version.rpartition("/")[0], kind)
        stored = kind if definition is None else definition.stored_kind
        held += await _of_kinds(instant, [stored])
    if target.namespace:
        # One that nobody has written is no object of the run: its name is all that policies see.
        found = await instant.find(NAMESPACES, "", target.namespace)
        held += [from_manifest(found.manifest)] if found and "kind" in found.manifest else []
    return HeldObjects(held)


async def _servers(instant: Now, configurations: Iterable[ApiObject]) -> list[ApiObject]:
    """The Services of webhooks, and what may be behind them."""
    hooks = (hook for one in configurations for hook in items(one.raw, "webhooks"))
    services = (section(hook, "clientConfig", "service") for hook in hooks)
    namespaces = dict.fromkeys(str(one.get("namespace")) for one in services if one)
    kinds = ("Service", *BEHIND)
    return [one for each in namespaces for one in await _of_kinds(instant, kinds, each)]


async def _of_kinds(instant: Now, kinds: Iterable[str], namespace: str = "") -> list[ApiObject]:
    found: list[ApiObject] = []
    for kind in kinds:
        made = from_manifest if kind in _KINDS else CustomObject
        async for versions in instant.objects(_resource(kind), namespace):
            found += [made(version.manifest) for version in versions]
    return found


_KINDS: Final = {one.kind: one for one in reversed(SERVED)}


def _resource(kind: str) -> Resource:
    """How objects that are stored as of *kind* are found; those of a custom kind have no address here."""
    return _KINDS.get(kind) or replace(_KINDS["ConfigMap"], kind=kind)
