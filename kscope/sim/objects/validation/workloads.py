"""Rules for workloads, whose selector has to match the pods that they make."""

from __future__ import annotations

import re
from typing import Any, cast

from kscope.sim.objects.documents import Path
from kscope.sim.objects.selectors import LabelSelector
from kscope.sim.objects.validation.pods import pod_template
from kscope.sim.objects.validation.report import Report, shown
from kscope.sim.objects.validation.rules import (
    boolean,
    fields,
    label_selector,
    labels,
    list_of,
    map_of,
    object_name,
    one_of,
    text,
)
from kscope.sim.objects.validation.shared import any_integer, conditions, natural_number
from kscope.sim.objects.validation.storage import CLAIM_SPEC


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
_workload = fields(
    ("spec",),
    spec=fields(
        ("template",),
        replicas=natural_number,
        selector=label_selector,
        template=pod_template,
        strategy=fields(type=one_of("", "Recreate", "RollingUpdate"), rollingUpdate=_rolling),
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
        parallelism=natural_number,
        completions=natural_number,
        manualSelector=boolean,
        backoffLimit=natural_number,
        activeDeadlineSeconds=any_integer,
        suspend=boolean,
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
    _workload(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    selector, made = spec.get("selector"), _template_labels(spec)
    if selector is None:
        if not made or value.get("apiVersion") not in DEFAULTS_SELECTOR:
            report.add((*path, "spec", "selector"), None, "is missing")
    elif LabelSelector.parse(selector).empty:
        kind = value["kind"].lower()
        # Upstream says so of a ReplicaSet, too.
        kind = "deployment" if kind == "replicaset" else kind
        report.add((*path, "spec", "selector"), selector, f"empty selector is invalid for {kind}")
    else:
        _refuse_mismatch(LabelSelector.parse(selector), made, path, report)


def _template_labels(spec: dict[str, Any]) -> dict[str, str]:
    metadata: dict[str, Any] = spec["template"].get("metadata") or {}
    return metadata.get("labels") or {}


def _refuse_mismatch(
    selector: LabelSelector, made: dict[str, str], path: Path, report: Report
) -> None:
    if not selector.matches(made):
        where = (*path, "spec", "template", "metadata", "labels")
        report.add(where, made, "`selector` does not match template `labels`")


# The labels that the API server gives to the pods of a Job, in their older and newer form.
_JOB_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")


def job_with_selector(value: Any, path: Path, report: Report) -> None:
    """A Job, whose selector is generated unless it says that it is not.

    Upstream: pkg/apis/batch/validation, ValidateJob(), validateGeneratedSelector().
    """
    before = len(report.problems)
    _workload(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    labels = _template_labels(spec)
    if spec.get("selector") is None:
        if spec.get("manualSelector"):
            report.add((*path, "spec", "selector"), None, "is missing")
        return
    selector = LabelSelector.parse(spec["selector"])
    if not spec.get("manualSelector"):
        metadata = value.get("metadata")
        named = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
        generated = _generated_labels(named, labels)
        if not selector.matches(generated):
            where = (*path, "spec", "selector")
            report.add(where, spec["selector"], "`selector` not auto-generated")
            return
        labels = {name: generated[name] for name in ("controller-uid", "job-name")} | labels
    _refuse_mismatch(selector, labels, path, report)


def _generated_labels(metadata: dict[str, Any], labels: dict[str, str]) -> dict[str, str]:
    """What the API server labels the pods of a Job with.

    A Job whose uid was taken out of a dump had the one that its template still names.
    """
    named = next((labels[name] for name in _JOB_UID if name in labels), "")
    uid, name = metadata.get("uid") or named, metadata.get("name") or ""
    return {**dict.fromkeys(_JOB_UID, uid), **dict.fromkeys(_JOB_NAME, name)}


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
    made = _template_labels(spec)
    selector: dict[str, str] = spec.get("selector") or made
    if not selector:
        report.add((*path, "spec", "selector"), None, "is missing")
    else:
        _refuse_mismatch(LabelSelector.parse({"matchLabels": selector}), made, path, report)
