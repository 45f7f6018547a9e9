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
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import SERVES, behind, served_by
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.webhooks import hook_named
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, enumerated, phrase, say, together, verbatim
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
_LEAVING: Final = re.compile(r"in namespace (\S+) because it is being terminated")
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
    (_LEAVING, "leaving"),
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
        say(
            "{resource}: {get} of {limit} are used and one more pod asks for {get_2}",
            resource=resource,
            get=used.get(resource, "0"),
            limit=limit,
            get_2=asked.get(resource, "?"),
        )
        for resource, limit in limited.items()
        if resource in asked
    ]
    quota = evidence.find("ResourceQuota", f"{namespace}/{name}")
    cause = say(
        "ResourceQuota {namespace}/{name} is used up ({parts}).",
        namespace=namespace,
        name=name,
        parts=listed(parts),
    )
    changes: list[Change] = []
    needed = _needed(quota, asked, used, limited, found)
    if needed:
        amounts = listed([f"{resource} {amount}" for resource, amount in needed.items()])
        changes.append(
            Change(
                text=say(
                    "Raise ResourceQuota {name} to {amounts}, or run fewer replicas",
                    name=name,
                    amounts=amounts,
                ),
                kind="quota",
                note=say("The quota is what other teams' shares rest on: ask who owns it."),
                commands=bodies([patch_of(quota, {"spec": {"hard": needed}})] if quota else []),
            )
        )
    return _by_object(cause, "resourcequota", f"{namespace}/{name}", changes)


def _by_object(cause: Sentence, kind: str, key: str, changes: list[Change]) -> Explained:
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
    cause = say(
        "ResourceQuota {namespace}/{name} wants every pod to state {amounts}.",
        namespace=namespace,
        name=name,
        amounts=listed(amounts),
    )
    if containers:
        cause = say(
            "ResourceQuota {namespace}/{name} wants every pod to state {amounts} of containers "
            "{containers}.",
            namespace=namespace,
            name=name,
            amounts=listed(amounts),
            containers=listed(containers),
        )
    change = Change(
        text=say(
            "State {amounts} in the template, or create a LimitRange in {namespace} with defaults",
            amounts=listed(amounts),
            namespace=namespace,
        ),
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
    webhook: str = name
    by = known_as("webhook", name)
    changes: list[Change] = []
    if configuration is not None and hook is not None:
        by = f"{configuration['kind'].lower()} {configuration['metadata']['name']}"
        policy = hook.get("failurePolicy") or "Fail"
        webhook = say("{webhook} (failurePolicy {policy})", webhook=name, policy=policy)
    service = section(hook or {}, "clientConfig", "service")
    where = f"{service.get('namespace')}/{service.get('name')}" if service else ""
    reason = found.message.rpartition(": ")[2]
    cause = say("The webhook {webhook} cannot be called: {reason}.", webhook=webhook, reason=reason)
    if where:
        cause = say(
            "The webhook {webhook} cannot be called through service {service}: {reason}.",
            webhook=webhook,
            service=where,
            reason=reason,
        )
    owner = (
        served_by(evidence, str(service.get("namespace")), str(service.get("name")))
        if service
        else None
    )
    owner = owner or behind(evidence, name, "admission", "webhook")
    if owner is not None:
        cause = together(cause, owner.said(evidence, SERVES))
        if not owner.is_running:
            changes.append(started(owner.workload))
    changes.append(
        Change(
            text=say(
                "Let webhook {name} be ignored when it cannot be called (failurePolicy Ignore)",
                name=name,
            ),
            kind="webhook",
            shared=say("what it enforces is off for everybody meanwhile"),
        )
    )
    return Explained(cause, by, tuple(changes), (by.replace(" ", "/", 1), *facts_of(owner)))


def started(owner: Manifest) -> Change:
    """The change that starts a workload that does not run."""
    name = entity(owner).replace("/", " ", 1)
    if wanted_pods(owner) == 0 and owner["kind"] != "DaemonSet":
        return Change(
            text=say("Scale {name} to 1", name=name),
            kind="start",
            note=say("Nothing to prove for a scheduler: whether it then works, its log says."),
            commands=bodies([patch_of(owner, {"spec": {"replicas": 1}})]),
        )
    return Change(
        text=say("Let {name} run: see why its pods are not ready", name=name),
        kind="start",
    )


def _denied(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del namespace
    configuration, _ = hook_named(evidence, name)
    by = known_as("webhook", name)
    if configuration is not None:
        by = f"{configuration['kind'].lower()} {configuration['metadata']['name']}"
    reason = found.message.partition("denied the request: ")[2] or found.message
    change = Change(
        text=say("Give the template what the policy asks for: {reason}", reason=reason),
        kind="template",
    )
    return Explained(
        say("The admission webhook {name} denies the pods: {reason}.", name=name, reason=reason),
        by,
        (change,),
    )


def _account(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del found
    account = name.rpartition("/")[2]
    known = [
        each["metadata"]["name"]
        for each in evidence.all("ServiceAccount")
        if each["metadata"].get("namespace") == namespace
    ]
    others = say("The namespace has {accounts}.", accounts=listed(known)) if known else NOTHING
    change = Change(
        text=say(
            "Create ServiceAccount {namespace}/{account}, or name another in the template",
            namespace=namespace,
            account=account,
        ),
        kind="account",
        commands=bodies([created(named("ServiceAccount", f"{namespace}/{account}"))]),
    )
    cause = say(
        "ServiceAccount {namespace}/{account} does not exist ({message}).",
        namespace=namespace,
        account=account,
        message=verbatim(f'serviceaccount "{name}" not found'),
    )
    cause = together(cause, others)
    return _by_object(cause, "serviceaccount", f"{namespace}/{account}", [change])


def _class(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence, namespace, found
    change = Change(
        text=say("Create PriorityClass {name}, or name another in the template", name=name),
        kind="priority",
        commands=bodies([created(named("PriorityClass", name, "scheduling.k8s.io/v1", value=0))]),
    )
    return _by_object(
        say("PriorityClass {name} does not exist.", name=name), "priorityclass", name, [change]
    )


def _runtime(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del namespace, found
    known = listed([str(each["metadata"]["name"]) for each in evidence.all("RuntimeClass")], 4)
    others = (
        say("The cluster has {classes}.", classes=known)
        if known
        else say("There is no RuntimeClass in the files.")
    )
    change = Change(
        text=say(
            "Create RuntimeClass {name}, or name another in the template (runtimeClassName)",
            name=name,
        ),
        kind="runtime",
        commands=bodies([created(named("RuntimeClass", name, "node.k8s.io/v1", handler=name))]),
    )
    return _by_object(
        together(say("RuntimeClass {name} does not exist.", name=name), others),
        "runtimeclass",
        name,
        [change],
    )


_NO_MORE: Final = phrase("Ask in the template for no more than {amount} {resource} per {kind}")
_NO_LESS: Final = phrase("Ask in the template for no less than {amount} {resource} per {kind}")


def _bound(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """A bound of a LimitRange. Upstream: plugin/pkg/admission/limitranger/admission.go."""
    del name
    match = _BOUND.search(found.message)
    assert match is not None
    side, resource, kind, amount = match[1][:3], match[2], match[3], match[4]
    ask = _NO_MORE if side == "max" else _NO_LESS
    change = ask.say(amount=amount, resource=resource, kind=kind)
    return _limited(evidence, namespace, found, (kind, side, resource), change)


def _ratio(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """How much larger limits may be than requests. Upstream: limitRequestRatioConstraint()."""
    del name
    match = _RATIO.search(found.message)
    assert match is not None
    resource, kind, amount = match[1], match[2], match[3]
    change = say(
        "Let the limit of {resource} in the template be at most {amount} times its request",
        resource=resource,
        amount=amount,
    )
    where = (kind, "maxLimitRequestRatio", resource)
    return _limited(evidence, namespace, found, where, change)


def _limited(
    evidence: Evidence, namespace: str, found: Stuck, where: tuple[str, str, str], text: Sentence
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
    said = (found.message.partition("forbidden: ")[2] or found.message).rstrip(".")
    change = Change(text=text, kind="template")
    if not ranges:
        cause = say(
            "A LimitRange of namespace {namespace} forbids the pods: {message}.",
            namespace=namespace,
            message=said,
        )
        return Explained(cause, f"a LimitRange of namespace {namespace}", (change,))
    key = key_of(ranges[0])
    cause = say(
        "LimitRange {limit_range} forbids the pods: {message}.", limit_range=key, message=said
    )
    return Explained(cause, known_as("limitrange", key), (change,), (f"limitrange/{key}",))


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
    have = (
        say("It has {quotas}.", quotas=listed(quotas))
        if quotas
        else say("It has no ResourceQuota at all.")
    )
    cause = say(
        "The API server is configured to admit pods of PriorityClass {classes} "
        "only where a ResourceQuota names that class in its scopeSelector "
        "({message}), and none in namespace {namespace} does.",
        classes=listed(classes),
        message=verbatim(f"insufficient quota to match these scopes: {name}"),
        namespace=namespace,
    )
    cause = together(cause, have)
    changes = [
        Change(
            text=say(
                "Create a ResourceQuota in {namespace} with scopeSelector PriorityClass In "
                "[{classes}], or use no such class",
                namespace=namespace,
                classes=enumerated(classes),
            ),
            kind="quota",
            commands=bodies([_quota_for(namespace, classes, found.missing)]),
        )
    ]
    by = say(
        "namespace {namespace} (no quota for PriorityClass {classes})",
        namespace=namespace,
        classes=listed(classes),
    )
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
        Change(
            text=say("Let the template meet Pod Security level {name}", name=name), kind="template"
        ),
        Change(
            text=say(
                "Label namespace {namespace} with a lower Pod Security level", namespace=namespace
            ),
            kind="security",
            shared=say(
                "every pod of namespace {namespace} may then do as much", namespace=namespace
            ),
        ),
    ]
    return _by_object(
        say(
            "Namespace {namespace} enforces Pod Security: {reason}.",
            namespace=namespace,
            reason=reason,
        ),
        "namespace",
        namespace,
        changes,
    )


def _leaving(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    """Upstream: plugin/pkg/admission/namespace/lifecycle/admission.go, Admit()."""
    cause = say("Namespace {name} is being deleted: nothing new is made in it.", name=name)
    return Explained(
        cause,
        known_as("namespace", name),
        facts=(f"namespace/{name}",),
        short=say("namespace is being deleted"),
    )


def _other(evidence: Evidence, namespace: str, name: str, found: Stuck) -> Explained:
    del evidence
    return Explained(
        say("The API server refuses: {message}.", message=found.message),
        known_as("namespace", namespace),
    )


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
    "leaving": _leaving,
}
