"""What explains a refusal of the API server, by what it says: each rule has its own words.

Upstream: plugin/pkg/admission.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.observed.evidence import (
    Evidence,
    entity,
    key_of,
)
from engine.diagnosis.subjects.changes import default_amounts
from engine.diagnosis.triage.carrying_out import bodies, created, named, patch_of
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import behind, served_by
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.webhooks import hook_named
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import items, section, wanted_pods
from engine.objects.objects import Manifest
from engine.objects.values.quantity import milli_value

_QUOTA: Final = re.compile(r"exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)")
_UNSTATED: Final = re.compile(r"failed quota: ([^:]+): must specify (.*)")
_WEBHOOK: Final = re.compile(r'failed calling webhook "([^"]+)"')
_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied the request')
_POLICY: Final = re.compile(r"ValidatingAdmissionPolicy '([^']+)'")
_ACCOUNT: Final = re.compile(r'serviceaccount "([^"]+)" not found')
_CLASS: Final = re.compile(r"no PriorityClass with name (\S+) was found")
_SCOPES: Final = re.compile(r"insufficient quota to match these scopes: (.*)")
_RUNTIME: Final = re.compile(r'RuntimeClass "([^"]+)" not found')
_BOUND: Final = re.compile(
    r"((?:max|min)imum) (\S+) usage per (\w+) is ([^\s,\]]+?)\.?(?=[\s,\]]|$)"
)
_RATIO: Final = re.compile(r"(\S+) max limit to request ratio per (\w+) is ([^\s,\]]+)")
_SECURITY: Final = re.compile(r'violates PodSecurity "([^"]+)"')

_KINDS_OF_REFUSAL: Final = (
    (_QUOTA, "quota"),
    (_UNSTATED, "unstated"),
    (_WEBHOOK, "webhook"),
    (_DENIED, "denied"),
    (_POLICY, "policy"),
    (_ACCOUNT, "account"),
    (_CLASS, "class"),
    (_SCOPES, "scopes"),
    (_SECURITY, "security"),
    (_RUNTIME, "runtime"),
    (_BOUND, "bound"),
    (_RATIO, "ratio"),
)


def kind_of(message: str) -> tuple[str, str]:
    """Which rule refuses, and the name that the message gives; ("", "") for another."""
    for pattern, kind in _KINDS_OF_REFUSAL:
        match = pattern.search(message)
        if match is not None:
            return kind, match[1]
    return "", ""


def explain_refusal(
    evidence: Evidence, kind: str, namespace: str, name: str, found: Stuck
) -> Explained:
    """What refuses, and what would let the pods be made."""
    explain = _EXPLAINED.get(kind, _other)
    return explain(evidence, namespace, name, found)


def _quota(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    match = _QUOTA.search(found.message)
    assert match is not None
    asked, used, limited = (_amounts(match[group]) for group in (2, 3, 4))
    parts = [
        f"{resource}: {used.get(resource, '0')} of {limit} are used and one more pod asks for "
        f"{asked.get(resource, '?')}"
        for resource, limit in limited.items()
        if resource in asked
    ]
    quota = evidence.find("ResourceQuota", f"{namespace}/{name}")
    cause = f"ResourceQuota {namespace}/{name} is used up ({listed(parts)})."
    changes: list[Change] = []
    needed = _needed(quota, asked, used, limited, found)
    if needed:
        amounts = listed([f"{resource} {amount}" for resource, amount in needed.items()])
        changes.append(
            Change(
                text=f"Raise ResourceQuota {name} to {amounts}, or run fewer replicas",
                kind="quota",
                note="The quota is what other teams' shares rest on: ask who owns it.",
                commands=bodies([patch_of(quota, {"spec": {"hard": needed}})] if quota else []),
            )
        )
    return _by_object(cause, "resourcequota", f"{namespace}/{name}", changes)


def _by_object(cause: str, kind: str, key: str, changes: list[Change]) -> Explained:
    return Explained(cause, f"{kind} {key}", tuple(changes), (f"{kind}/{key}",))


def _amounts(text: str) -> dict[str, str]:
    """ "requests.memory=16Gi,pods=1" by resource."""
    pairs = (each.partition("=") for each in text.split(","))
    return {name.strip(): amount.strip() for name, _, amount in pairs if amount}


def _needed(
    quota: Manifest | None,
    asked: dict[str, str],
    used: dict[str, str],
    limited: dict[str, str],
    found: Stuck,
) -> dict[str, str]:
    """What the limits have to be for all missing pods: what is used, and what each asks for."""
    stands = {} if quota is None else section(quota, "status", "used")
    needed: dict[str, str] = {}
    for resource in limited:
        if resource not in asked:
            continue
        has = str(stands.get(resource) or used.get(resource, "0"))
        total = milli_value(has) + milli_value(asked[resource]) * found.missing
        needed[resource] = _like(total, limited[resource])
    return needed


_UNITS: Final = {"Ti": 1 << 40, "Gi": 1 << 30, "Mi": 1 << 20, "Ki": 1 << 10, "": 1}


def _like(milli: int, model: str) -> str:
    """An amount of thousandths in the unit of *model*, rounded up."""
    if model.endswith("m") or milli % 1000:
        return f"{milli}m"
    unit = next(unit for unit in _UNITS if model.endswith(unit))
    return f"{-(-milli // 1000 // _UNITS[unit])}{unit}"


def _unstated(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence
    match = _UNSTATED.search(found.message)
    what = match[2] if match is not None else ""
    amounts, containers = _left_out(what)
    of = f" of containers {listed(containers)}" if containers else ""
    cause = f"ResourceQuota {namespace}/{name} wants every pod to state {listed(amounts)}{of}."
    change = Change(
        text=f"State {listed(amounts)} in the template, or create a LimitRange in {namespace} with "
        "defaults",
        kind="limits",
        commands=bodies([default_amounts(namespace, amounts)]),
    )
    return _by_object(cause, "resourcequota", f"{namespace}/{name}", [change])


def _left_out(what: str) -> tuple[list[str], list[str]]:
    """The amounts that are not stated, and by which containers, where it is said.

    Upstream: pkg/quota/v1/evaluator/core/pods.go, "limits.cpu for: a,b; limits.memory for: a";
    before v1.26 "limits.cpu,limits.memory".
    """
    if " for: " not in what:
        return [each.strip() for each in what.split(",")], []
    parts = [each.strip().partition(" for: ") for each in what.split(";")]
    named = (name.strip() for _, _, names in parts for name in names.split(","))
    return [name for name, _, _ in parts], list(dict.fromkeys(named))


def _webhook(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """A webhook that cannot be called: its configuration, its Service, and who serves that."""
    del namespace
    configuration, hook = hook_named(evidence, name)
    parts = [f"The webhook {name}"]
    by = f"webhook {name}"
    changes: list[Change] = []
    if configuration is not None and hook is not None:
        by = f"{configuration['kind'].lower()} {configuration['metadata']['name']}"
        parts.append(f"(failurePolicy {hook.get('failurePolicy') or 'Fail'})")
    service = section(hook or {}, "clientConfig", "service")
    where = f"{service.get('namespace')}/{service.get('name')}" if service else ""
    if where:
        parts.append(f"cannot be called through service {where}")
    else:
        parts.append("cannot be called")
    reason = found.message.rpartition(": ")[2]
    cause = f"{' '.join(parts)}: {reason}."
    owner = (
        served_by(evidence, str(service.get("namespace")), str(service.get("name")))
        if service
        else None
    )
    owner = owner or behind(evidence, name, "admission", "webhook")
    if owner is not None:
        cause = f"{cause} {owner.said(evidence, 'serves it')}"
        if not owner.is_running:
            changes.append(started(owner.workload))
    changes.append(
        Change(
            text=f"Let webhook {name} be ignored when it cannot be called (failurePolicy Ignore)",
            kind="webhook",
            shared="what it enforces is off for everybody meanwhile",
        )
    )
    return Explained(cause, by, tuple(changes), (by.replace(" ", "/", 1), *facts_of(owner)))


def started(owner: Manifest) -> Change:
    """The change that starts a workload that does not run."""
    name = entity(owner).replace("/", " ", 1)
    if wanted_pods(owner) == 0 and owner["kind"] != "DaemonSet":
        return Change(
            text=f"Scale {name} to 1",
            kind="start",
            note="Nothing to prove for a scheduler: whether it then works, its log says.",
            commands=bodies([patch_of(owner, {"spec": {"replicas": 1}})]),
        )
    return Change(
        text=f"Let {name} run: see why its pods are not ready",
        kind="start",
    )


def _denied(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del namespace
    configuration, _ = hook_named(evidence, name)
    by = f"webhook {name}"
    if configuration is not None:
        by = f"{configuration['kind'].lower()} {configuration['metadata']['name']}"
    reason = found.message.partition("denied the request: ")[2] or found.message
    change = Change(text=f"Give the template what the policy asks for: {reason}", kind="template")
    return Explained(f"The admission webhook {name} denies the pods: {reason}.", by, (change,))


def _account(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del found
    account = name.rpartition("/")[2]
    known = [
        each["metadata"]["name"]
        for each in evidence.all("ServiceAccount")
        if each["metadata"].get("namespace") == namespace
    ]
    others = f" The namespace has {listed(known)}." if known else ""
    change = Change(
        text=f"Create ServiceAccount {namespace}/{account}, or name another in the template",
        kind="account",
        commands=bodies([created(named("ServiceAccount", f"{namespace}/{account}"))]),
    )
    cause = f'ServiceAccount {namespace}/{account} does not exist (serviceaccount "{name}" not found).{others}'
    return _by_object(cause, "serviceaccount", f"{namespace}/{account}", [change])


def _class(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence, namespace, found
    change = Change(
        text=f"Create PriorityClass {name}, or name another in the template",
        kind="priority",
        commands=bodies([created(named("PriorityClass", name, "scheduling.k8s.io/v1", value=0))]),
    )
    return _by_object(f"PriorityClass {name} does not exist.", "priorityclass", name, [change])


def _runtime(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del namespace, found
    known = listed([str(each["metadata"]["name"]) for each in evidence.all("RuntimeClass")], 4)
    others = f" The cluster has {known}." if known else " There is no RuntimeClass in the files."
    change = Change(
        text=f"Create RuntimeClass {name}, or name another in the template (runtimeClassName)",
        kind="runtime",
        commands=bodies([created(named("RuntimeClass", name, "node.k8s.io/v1", handler=name))]),
    )
    return _by_object(
        f"RuntimeClass {name} does not exist.{others}", "runtimeclass", name, [change]
    )


def _bound(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """A bound of a LimitRange. Upstream: plugin/pkg/admission/limitranger/admission.go."""
    del name
    match = _BOUND.search(found.message)
    assert match is not None
    side, resource, kind, amount = match[1][:3], match[2], match[3], match[4]
    than = "no more" if side == "max" else "no less"
    change = f"Ask in the template for {than} than {amount} {resource} per {kind}"
    return _limited(evidence, namespace, found, (kind, side, resource), change)


def _ratio(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """How much larger limits may be than requests. Upstream: limitRequestRatioConstraint()."""
    del name
    match = _RATIO.search(found.message)
    assert match is not None
    resource, kind, amount = match[1], match[2], match[3]
    change = f"Let the limit of {resource} in the template be at most {amount} times its request"
    where = (kind, "maxLimitRequestRatio", resource)
    return _limited(evidence, namespace, found, where, change)


def _limited(
    evidence: Evidence, namespace: str, found: Stuck, where: tuple[str, str, str], text: str
) -> Explained:
    """The LimitRange that has an item of a type with that field and resource."""
    kind, field_name, resource = where
    ranges = [
        each
        for each in evidence.all("LimitRange")
        if each["metadata"].get("namespace") == namespace
        and any(
            resource in section(item, field_name)
            for item in items(section(each, "spec"), "limits")
            if item.get("type") == kind
        )
    ]
    who = f"LimitRange {key_of(ranges[0])}" if ranges else f"A LimitRange of namespace {namespace}"
    said = (found.message.partition("forbidden: ")[2] or found.message).rstrip(".")
    change = Change(text=text, kind="template")
    by = who[:1].lower() + who[1:] if not ranges else f"limitrange {key_of(ranges[0])}"
    facts = (f"limitrange/{key_of(ranges[0])}",) if ranges else ()
    return Explained(f"{who} forbids the pods: {said}.", by, (change,), facts)


def _scopes(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """Upstream: plugin/pkg/admission/resourcequota/controller.go, CheckRequest()."""
    classes = sorted(
        {
            str(section(each, "spec", "template", "spec").get("priorityClassName"))
            for each in found.objects
        }
    )
    quotas = [
        key_of(each)
        for each in evidence.all("ResourceQuota")
        if each["metadata"].get("namespace") == namespace
    ]
    have = f"It has {listed(quotas)}." if quotas else "It has no ResourceQuota at all."
    cause = (
        f"The API server is configured to admit pods of PriorityClass {listed(classes)} only where "
        f"a ResourceQuota names that class in its scopeSelector (insufficient quota to match these "
        f"scopes: {name}), and none in namespace {namespace} does. {have}"
    )
    changes = [
        Change(
            text=f"Create a ResourceQuota in {namespace} with scopeSelector PriorityClass In "
            f"[{', '.join(classes)}], or use no such class",
            kind="quota",
            commands=bodies([_quota_for(namespace, classes, found.missing)]),
        )
    ]
    by = f"namespace {namespace} (no quota for PriorityClass {listed(classes)})"
    return Explained(cause, by, tuple(changes))


def _quota_for(namespace: str, classes: list[str], pods: int) -> Command:
    """The quota that lets so many pods of some priority classes be made."""
    wanted = {"scopeName": "PriorityClass", "operator": "In", "values": classes}
    spec = {"hard": {"pods": str(pods)}, "scopeSelector": {"matchExpressions": [wanted]}}
    return created(named("ResourceQuota", f"{namespace}/{'-'.join(classes)}", spec=spec))


def _security(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence
    reason = found.message.partition("violates PodSecurity ")[2]
    changes = [
        Change(text=f"Let the template meet Pod Security level {name}", kind="template"),
        Change(
            text=f"Label namespace {namespace} with a lower Pod Security level",
            kind="security",
            shared=f"every pod of namespace {namespace} may then do as much",
        ),
    ]
    return _by_object(
        f"Namespace {namespace} enforces Pod Security: {reason}.", "namespace", namespace, changes
    )


def _other(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence
    return Explained(f"The API server refuses: {found.message}.", f"namespace {namespace}")


_EXPLAINED: Final[dict[str, Callable[[Evidence, str, str, Stuck], Explained]]] = {
    "quota": _quota,
    "unstated": _unstated,
    "webhook": _webhook,
    "denied": _denied,
    "account": _account,
    "class": _class,
    "scopes": _scopes,
    "security": _security,
    "runtime": _runtime,
    "bound": _bound,
    "ratio": _ratio,
}
