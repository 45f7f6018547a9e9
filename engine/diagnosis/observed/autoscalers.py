"""Where new nodes would come from: the pools of autoscalers, with their limits and troubles.

Upstream: karpenter.sh/v1 NodePool and NodeClaim; cluster-autoscaler, clusterstate/api/types.go, whose
status is a text in older versions and YAML since 1.30; the annotations of Cluster API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import yaml

from engine.diagnosis.observed.evidence import Evidence, SeenEvent, condition, key_of
from engine.kernel.sentences import NOTHING, Sentence, phrase, say, verbatim
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node
from engine.objects.values.quantity import milli_value

_STATUS: Final = "kube-system/cluster-autoscaler-status"
_KARPENTER: Final = {
    "NodePool": "karpenter.sh/nodepool",
    "Provisioner": "karpenter.sh/provisioner-name",
}
# The labels by which clouds name the group of a node.
_GROUP_LABELS: Final = (
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "kops.k8s.io/instancegroup",
    "doks.digitalocean.com/node-pool",
)
_OWNER_NAME: Final = "cluster.x-k8s.io/owner-name"
_MAX_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
# Events of autoscalers about pods; Karpenter's have the scheduler's own reason.
_REASONS: Final = ("NotTriggerScaleUp", "TriggeredScaleUp", "FailedScaleUp", "Nominated")
_COMPONENT: Final = "karpenter"

_LEGACY_GROUP: Final = re.compile(r"^\s*Name:\s+(\S+)", re.MULTILINE)
_LEGACY_SIZE: Final = re.compile(r"cloudProviderTarget=(\d+) \(minSize=\d+, maxSize=(\d+)\)")
_LEGACY_BACKOFF: Final = re.compile(r"ScaleUp:\s+Backoff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A pool of machines: `size` nodes of at most `most`, and per resource what is used of a limit.

    `limits` are thousandths, used and allowed. `trouble` says why it makes no nodes now; "" for none.
    """

    name: str
    size: int = 0
    most: int | None = None
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    trouble: Sentence = NOTHING
    # What its nodes may be: the template of a NodePool. A node group makes nodes that are alike.
    template: Manifest | None = None

    def refusal(self, node: Node, number: int) -> Sentence:
        """Why the pool makes no *number* of nodes such as *node*; "" where nothing is known to stop it."""
        if self.most is not None and self.size + number > self.most:
            rest = self.most - self.size
            if rest <= 0:
                return say(
                    "{pool} has {size} of {most} nodes: its limit",
                    pool=self.name,
                    size=self.size,
                    most=self.most,
                )
            return say(
                "{pool} has {size} of {most} nodes: {rest} more is its limit",
                pool=self.name,
                size=self.size,
                most=self.most,
                rest=rest,
            )
        for name, (used, limit) in self.limits.items():
            more = milli_value(node.raw["status"].get("capacity", {}).get(name, 0)) * number
            if used + more > limit:
                return say(
                    "{pool} has used {used} of {limit} {resource}: its limit",
                    pool=self.name,
                    used=_amount(used),
                    limit=_amount(limit),
                    resource=name,
                )
        return self.trouble

    def lacks(self, labels: Mapping[str, str], without: tuple[Manifest, ...]) -> Sentence:
        """Why its nodes can never have *labels*, nor be *without* some taints; "" where they can."""
        if self.template is None:
            return say("{name} makes nodes that are alike: it takes another one", name=self.name)
        for key, value in labels.items():
            if not _may_have(self.template, key, value):
                return say(
                    "{name} makes no nodes with {key}={value}", name=self.name, key=key, value=value
                )
        taints = items(section(self.template, "spec"), "taints")
        for taint in without:
            if any(each.get("key") == taint.get("key") for each in taints):
                return say(
                    "{name} gives its nodes the taint {key}", name=self.name, key=taint.get("key")
                )
        return NOTHING


def _amount(milli: int) -> str:
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def _may_have(template: Manifest, key: str, value: str) -> bool:
    """Upstream: karpenter pkg/scheduling/requirements.go, Compatible()."""
    if section(template, "metadata", "labels").get(key) == value:
        return True
    wanted = items(section(template, "spec"), "requirements")
    rules = [each for each in wanted if each.get("key") == key]
    # Labels that every cloud gives its machines need no rule.
    is_free = not rules and key.startswith(("topology.kubernetes.io/", "kubernetes.io/"))
    return is_free or (bool(rules) and all(_allows(each, value) for each in rules))


def _allows(rule: Manifest, value: str) -> bool:
    operator, values = rule.get("operator"), rule.get("values") or ()
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return operator != "DoesNotExist"


class Pools:
    """The pools that the files tell of, each asked for by a node that came from it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._node_pools = {
            (label, str(each["metadata"]["name"])): _node_pool(evidence, each, label)
            for kind, label in _KARPENTER.items()
            for each in evidence.all(kind)
        }
        self._groups = [*_node_groups(evidence), *_machine_deployments(evidence)]

    def of(self, node: Manifest) -> Pool | None:
        """The pool that made *node*, as its labels, name or provider say; None where none is known."""
        metadata = node["metadata"]
        labels = section(metadata, "labels")
        for label in _KARPENTER.values():
            found = self._node_pools.get((label, str(labels.get(label))))
            if found is not None:
                return found
        provider = str(section(node, "spec").get("providerID") or "")
        owner = str(section(metadata, "annotations").get(_OWNER_NAME) or "")
        named = [
            pool
            for stem, pool in self._groups
            if str(metadata["name"]).startswith(f"{stem}-")
            or str(metadata["name"]).startswith(f"{stem}0")
            or f"/{stem}/" in provider
            or owner.startswith(f"{stem}-")
        ]
        values = [str(labels[key]) for key in _GROUP_LABELS if key in labels]
        labelled = [
            pool for stem, pool in self._groups if any(_has_word(stem, value) for value in values)
        ]
        # Only names distinguish several groups of one pool (one a zone).
        return named[0] if named else labelled[0] if len(labelled) == 1 else None


def said_by_autoscaler(evidence: Evidence, pod: Manifest) -> SeenEvent | None:
    """The newest Event of an autoscaler about a pod."""
    found = [
        each
        for each in evidence.events(pod)
        if each.reason in _REASONS or each.component == _COMPONENT
    ]
    return found[-1] if found else None


def _has_word(text: str, word: str) -> bool:
    return bool(re.search(rf"(?:^|[-./_]){re.escape(word)}(?:[-./_]|$)", text))


# -- Karpenter -------------------------------------------------------------------------------------


def _node_pool(evidence: Evidence, manifest: Manifest, label: str) -> Pool:
    name, spec = str(manifest["metadata"]["name"]), section(manifest, "spec")
    used = section(manifest, "status", "resources")
    # Provisioners of v1alpha5 have them one level deeper.
    allowed = section(spec, "limits", "resources") or section(spec, "limits")
    limits = {
        key: (milli_value(str(used.get(key, 0))), milli_value(str(limit)))
        for key, limit in allowed.items()
        if key != "nodes"
    }
    most = int(allowed["nodes"]) if "nodes" in allowed else None
    template = section(spec, "template") or {"metadata": section(spec), "spec": spec}
    return Pool(
        name=f"{manifest['kind']} {name}",
        size=int(used.get("nodes") or _counted(evidence, label, name)),
        most=most,
        limits=limits,
        trouble=_pool_trouble(evidence, manifest, label),
        template=template,
    )


def _counted(evidence: Evidence, label: str, name: str) -> int:
    return sum(_label(each, label) == name for each in evidence.all("Node"))


def _label(manifest: Manifest, key: str) -> str:
    return str(section(manifest, "metadata", "labels").get(key) or "")


def _pool_trouble(evidence: Evidence, pool: Manifest, label: str) -> Sentence:
    """A pool that is not ready, or whose newest machines do not come."""
    name = f"{pool['kind']} {pool['metadata']['name']}"
    ready = condition(pool, "Ready")
    if ready is not None and ready.get("status") == "False":
        return say(
            "{pool} is not ready ({reason}: {message})",
            pool=name,
            reason=ready.get("reason"),
            message=ready.get("message"),
        )
    for each in evidence.all("NodeClaim"):
        if _label(each, label) != pool["metadata"]["name"]:
            continue
        for kind, text in _LACKS.items():
            found = condition(each, kind)
            if found is not None and found.get("status") == "False" and found.get("message"):
                return text.say(pool=name, claim=key_of(each), message=found["message"])
    return NOTHING


# What a machine that does not come has not reached.
_LACKS: Final = {
    "Launched": phrase("{pool} has NodeClaim {claim}, which is not launched: {message}"),
    "Registered": phrase("{pool} has NodeClaim {claim}, which is not registered: {message}"),
    "Initialized": phrase("{pool} has NodeClaim {claim}, which is not initialized: {message}"),
}


# -- the cluster autoscaler and Cluster API --------------------------------------------------------


def _node_groups(evidence: Evidence) -> Iterator[tuple[str, Pool]]:
    """The node groups of the cluster autoscaler's status, each with the stem of its nodes' names."""
    found = evidence.find("ConfigMap", _STATUS)
    text = section(found, "data").get("status") if found is not None else None
    if not isinstance(text, str):
        return
    read = _read_yaml(text)
    groups = items(read, "nodeGroups") if read else list(_read_legacy(text))
    for each in groups:
        name, health = str(each.get("name")), section(each, "health")
        stem = name.rpartition("/")[2].removesuffix("-grp")
        scale_up, pool = (
            section(each, "scaleUp"),
            say("node group {name}", name=name.rpartition("/")[2]),
        )
        yield (
            stem,
            Pool(
                name=pool,
                size=int(health.get("cloudProviderTarget") or 0),
                most=int(health["maxSize"]) if "maxSize" in health else None,
                trouble=_backoff(scale_up, pool)
                if scale_up.get("status") == "Backoff"
                else NOTHING,
            ),
        )


def _backoff(scale_up: Manifest, pool: Sentence) -> Sentence:
    why = section(scale_up, "backoffInfo")
    said = ": ".join(str(why[key]) for key in ("errorCode", "errorMessage") if why.get(key))
    if not said:
        return say("{pool} is in backoff after a failed scale-up", pool=pool)
    return say(
        "{pool} is in backoff after a failed scale-up ({error})", pool=pool, error=verbatim(said)
    )


def _read_yaml(text: str) -> Manifest | None:
    try:
        read: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return cast("Manifest", read) if isinstance(read, dict) and "nodeGroups" in read else None


def _read_legacy(text: str) -> Iterator[Manifest]:
    """The text of versions before 1.30. Upstream: clusterstate/utils/status.go, GetReadableString()."""
    _, _, groups = text.partition("NodeGroups:")
    starts = [*_LEGACY_GROUP.finditer(groups)]
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(groups)
        part = groups[start.start() : end]
        size = _LEGACY_SIZE.search(part)
        health = {"cloudProviderTarget": size[1], "maxSize": size[2]} if size else {}
        status = "Backoff" if _LEGACY_BACKOFF.search(part) else ""
        yield {"name": start[1], "health": health, "scaleUp": {"status": status}}


def _machine_deployments(evidence: Evidence) -> Iterator[tuple[str, Pool]]:
    for each in evidence.all("MachineDeployment"):
        most = section(each, "metadata", "annotations").get(_MAX_SIZE)
        if most is not None and str(most).isdigit():
            name = str(each["metadata"]["name"])
            size = int(section(each, "spec").get("replicas") or 0)
            yield (
                name,
                Pool(
                    name=f"MachineDeployment {key_of(each)}",
                    size=size,
                    most=int(most),
                ),
            )
