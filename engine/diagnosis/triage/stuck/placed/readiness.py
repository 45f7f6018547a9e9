"""Why a node does not start a pod, or does not call it ready: sandboxes and readiness gates."""

from __future__ import annotations

import re
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, condition
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import IS_NETWORK, SETS, behind
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.nodes import is_of_network, network_owner
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.kernel.sentences import say, together
from engine.objects.manifest_parts import items, section

_HANDLER: Final = re.compile(r'no runtime for "([^"]+)" is configured')


# Who sets a readiness gate whose name does not say so. Upstream: aws-load-balancer-controller,
# apis/elbv2, TargetHealthPodConditionTypePrefix; GKE's container-native load balancing.
_GATE_OWNERS: Final = {
    "target-health.elbv2.k8s.aws": "aws-load-balancer-controller",
    "target-health.alb.ingress.k8s.aws": "aws-load-balancer-controller",
}


def explain_sandbox(evidence: Evidence, found: Stuck) -> Explained:
    """A sandbox that cannot be made: the network plugin behind it, or the handler that is missing.

    Upstream: kubelet/kuberuntime/kuberuntime_sandbox.go, createPodSandbox().
    """
    message = found.message.rstrip(".")
    text = say("{reason}: {message}.", reason=found.reason, message=message)
    nodes = listed(
        sorted({str(section(each, "spec").get("nodeName")) for each in found.objects}), 4
    )
    handler = _HANDLER.search(found.message)
    if handler is not None:
        classes = [
            str(each["metadata"]["name"])
            for each in evidence.all("RuntimeClass")
            if each.get("handler") == handler[1]
        ]
        lacks = say(
            "Its RuntimeClass asks for the handler {handler}, which the container runtime of "
            "{nodes} lacks.",
            handler=handler[1],
            nodes=nodes,
        )
        if classes:
            lacks = say(
                "RuntimeClass {classes} asks for the handler {handler}, which the container "
                "runtime of {nodes} lacks.",
                classes=listed(classes),
                handler=handler[1],
                nodes=nodes,
            )
        text = together(text, lacks)
        change = Change(
            text=say(
                "Configure the handler {handler} in the container runtime of {nodes}, or "
                "let the RuntimeClass select the nodes that have it "
                "(scheduling.nodeSelector)",
                handler=handler[1],
                nodes=nodes,
            ),
            kind="runtime",
        )
        facts = tuple(f"runtimeclass/{name}" for name in classes)
        by = known_as("runtimeclass", listed(classes)) if classes else known_as("node", nodes)
        return Explained(text, by, (change,), facts)
    owner = network_owner(evidence) if is_of_network(found.message) else None
    if owner is None:
        return Explained(text, "")
    text = together(text, owner.said(evidence, IS_NETWORK))
    change = Change(
        text=say(
            "Let {owner} work on {nodes}: see the log of its pod there",
            owner=owner.name,
            nodes=nodes,
        ),
        kind="start",
    )
    by = f"{owner.name} ({known_as('node', nodes)})"
    return Explained(text, by, (change,), facts_of(owner))


def explain_readiness_gates(evidence: Evidence, found: Stuck) -> Explained:
    """Readiness gates that nobody sets. Upstream: kubelet/status/generate.go, GeneratePodReadyCondition()."""
    gates = [
        str(each.get("conditionType"))
        for each in items(section(found.objects[0], "spec"), "readinessGates")
    ]
    unset = [
        gate for gate in gates if (condition(found.objects[0], gate) or {}).get("status") != "True"
    ]
    text = say("its readiness gate {gates} is not True.", gates=listed(unset or gates))
    # "target-health.elbv2.k8s.aws/…" has the words of who sets it in front.
    domain = (unset or gates)[0].partition("/")[0] if gates else ""
    hints = ("load", "balancer") if "elb" in domain or "health" in domain else ("controller",)
    owner = behind(evidence, _GATE_OWNERS.get(domain, domain), *hints)
    if owner is None:
        return Explained(
            together(
                text,
                say(
                    "No workload in the files looks like the one that sets it.",
                ),
            ),
            "",
        )
    changes = () if owner.is_running else (started(owner.workload),)
    text = together(text, owner.said(evidence, SETS))
    return Explained(text, f"{owner.name} (readiness gate)", changes, facts_of(owner))
