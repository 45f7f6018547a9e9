"""Rules for workloads, whose selector has to match the pods that they make, and for PodGroups."""

from __future__ import annotations

import re
from typing import Any, cast

from engine.api_server.validation.pods import pod_template
from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    boolean,
    fields,
    integer,
    label_selector,
    labels,
    list_of,
    map_of,
    object_name,
    one_of,
    text,
)
from engine.api_server.validation.shared import any_integer, conditions, natural_number
from engine.api_server.validation.storage import CLAIM_SPEC
from engine.objects.documents import Path
from engine.objects.selectors import LabelSelector
from engine.objects.values.shown import shown


def count_or_percent(value: Any, path: Path, report: Report) -> None:
    if isinstance(value, str) and re.fullmatch(r"[0-9]+%", value, re.ASCII):
        return
    if isinstance(value, str):
        report.add(path, value, f"{shown(value)} is neither a count nor a percentage")
        return
    natural_number(value, path, report)


_progress = fields(
    replicas=natural_number,
    readyReplicas=natural_number,
    availableReplicas=natural_number,
    updatedReplicas=natural_number,
    collisionCount=natural_number,
    observedGeneration=any_integer,
    currentRevision=text,
    currentNumberScheduled=natural_number,
    desiredNumberScheduled=natural_number,
    numberAvailable=natural_number,
    numberMisscheduled=natural_number,
    numberReady=natural_number,
    updatedNumberScheduled=natural_number,
    conditions=conditions,
)
_rolling = fields(
    maxSurge=count_or_percent, maxUnavailable=count_or_percent, partition=natural_number
)


def _rolling_deployment(value: Any, path: Path, report: Report) -> None:
    """A rollout has to be able to begin. Upstream: ValidateRollingUpdateDeployment()."""
    _rolling(value, path, report)
    if not isinstance(value, dict):
        return
    found = cast("dict[str, Any]", value)
    if all(found.get(name) in (0, "0%") for name in ("maxSurge", "maxUnavailable")):
        where = (*path, "maxUnavailable")
        report.add(where, found["maxUnavailable"], "may not be 0 when `maxSurge` is 0")


workload = fields(
    ("spec",),
    spec=fields(
        ("template",),
        replicas=natural_number,
        selector=label_selector,
        template=pod_template,
        strategy=fields(
            type=one_of("", "Recreate", "RollingUpdate"), rollingUpdate=_rolling_deployment
        ),
        updateStrategy=fields(type=one_of("", "OnDelete", "RollingUpdate"), rollingUpdate=_rolling),
        minReadySeconds=natural_number,
        progressDeadlineSeconds=natural_number,
        revisionHistoryLimit=natural_number,
        paused=boolean,
        serviceName=text,
        podManagementPolicy=one_of("", "OrderedReady", "Parallel"),
        ordinals=fields(start=natural_number),
        volumeClaimTemplates=list_of(
            fields(
                ("metadata", "spec"),
                metadata=fields(
                    ("name",), name=object_name, labels=labels, annotations=map_of(text)
                ),
                spec=CLAIM_SPEC,
            )
        ),
    ),
    status=_progress,
)


# The versions in which a workload without a selector gets the labels of its template.
DEFAULTS_SELECTOR = ("extensions/v1beta1", "apps/v1beta1")


def workload_with_selector(value: Any, path: Path, report: Report) -> None:
    """A workload whose selector finds the pods it makes; else it would make them for ever.

    Upstream: pkg/apis/apps/validation, ValidatePodTemplateSpecForReplicaSet() and the like.
    """
    before = len(report.problems)
    workload(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    selector, made = spec.get("selector"), template_labels(spec)
    if selector is None:
        if not made or value.get("apiVersion") not in DEFAULTS_SELECTOR:
            report.add((*path, "spec", "selector"), None, "is missing")
    elif LabelSelector.parse(selector).empty:
        kind = value["kind"].lower()
        # Upstream says so of a ReplicaSet, too.
        kind = "deployment" if kind == "replicaset" else kind
        report.add((*path, "spec", "selector"), selector, f"empty selector is invalid for {kind}")
    else:
        refuse_mismatch(LabelSelector.parse(selector), made, path, report)


def template_labels(spec: dict[str, Any]) -> dict[str, str]:
    metadata: dict[str, Any] = spec["template"].get("metadata") or {}
    return metadata.get("labels") or {}


def refuse_mismatch(
    selector: LabelSelector, made: dict[str, str], path: Path, report: Report
) -> None:
    if not selector.matches(made):
        where = (*path, "spec", "template", "metadata", "labels")
        report.add(where, made, "`selector` does not match template `labels`")


_controller = fields(
    ("spec",),
    spec=fields(
        ("template",),
        replicas=natural_number,
        selector=map_of(text),
        template=pod_template,
        minReadySeconds=natural_number,
    ),
    status=_progress,
)


def controller_with_selector(value: Any, path: Path, report: Report) -> None:
    """A ReplicationController; without a selector it gets the labels of its template.

    Upstream: pkg/apis/core/validation, ValidateReplicationControllerSpec().
    """
    before = len(report.problems)
    _controller(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    made = template_labels(spec)
    selector: dict[str, str] = spec.get("selector") or made
    if not selector:
        report.add((*path, "spec", "selector"), None, "is missing")
    else:
        refuse_mismatch(LabelSelector.parse({"matchLabels": selector}), made, path, report)


_POLICIES = ("basic", "gang")
_policy_fields = fields(basic=fields(), gang=fields(("minCount",), minCount=integer(1, 2**31 - 1)))


def scheduling_policy(value: Any, path: Path, report: Report) -> None:
    """Of a PodGroup exactly one of `basic` and `gang`; a gang says how many pods it needs.

    Upstream: pkg/apis/scheduling/validation (v1alpha2).
    """
    before = len(report.problems)
    _policy_fields(value, path, report)
    if len(report.problems) > before:
        return
    given = [name for name in _POLICIES if cast("dict[str, Any]", value).get(name) is not None]
    if len(given) != 1:
        report.add(path, value, f"must have exactly one of {', '.join(_POLICIES)}")
