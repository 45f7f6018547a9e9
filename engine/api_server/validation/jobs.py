"""Rules for Jobs. Upstream: pkg/apis/batch/validation."""

from __future__ import annotations

from typing import Any, Final, cast

from engine.api_server.validation.pods import pod_template
from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    Rule,
    boolean,
    fields,
    integer,
    list_of,
    one_of,
    text,
)
from engine.api_server.validation.shared import (
    any_integer,
    conditions,
    mapping_in,
    natural_number,
    texts,
)
from engine.api_server.validation.workloads import refuse_mismatch, template_labels, workload
from engine.objects.documents import Path
from engine.objects.selectors import LabelSelector

# Upstream: maxFailedIndexesForIndexedJob, the most completions with a limit for each index.
MOST_INDEXES: Final = 100_000

_failure_rule = fields(
    ("action",),
    action=one_of("FailJob", "FailIndex", "Ignore", "Count"),
    onExitCodes=fields(
        ("operator", "values"),
        containerName=text,
        operator=one_of("In", "NotIn"),
        values=list_of(integer(), at_least=1),
    ),
    onPodConditions=list_of(
        fields(("type",), type=text, status=one_of("True", "False", "Unknown")), at_least=1
    ),
)
_FIELDS: Final[dict[str, Rule]] = {
    "parallelism": natural_number,
    "completions": natural_number,
    "completionMode": one_of("NonIndexed", "Indexed"),
    "manualSelector": boolean,
    "managedBy": text,
    "backoffLimit": natural_number,
    "backoffLimitPerIndex": natural_number,
    "maxFailedIndexes": natural_number,
    "activeDeadlineSeconds": any_integer,
    "ttlSecondsAfterFinished": natural_number,
    "suspend": boolean,
    "podReplacementPolicy": one_of("TerminatingOrFailed", "Failed"),
    "podFailurePolicy": fields(("rules",), rules=list_of(_failure_rule)),
    "successPolicy": fields(
        ("rules",),
        rules=list_of(fields(succeededIndexes=text, succeededCount=natural_number)),
    ),
}
# As a CronJob has it; the template of a Job is checked as that of other workloads.
_template = fields(("template",), template=pod_template, **_FIELDS)
_job = fields(
    ("spec",),
    spec=fields(**_FIELDS),
    status=fields(
        active=natural_number,
        succeeded=natural_number,
        failed=natural_number,
        completedIndexes=text,
        failedIndexes=text,
        uncountedTerminatedPods=fields(succeeded=texts, failed=texts),
        conditions=conditions,
    ),
)


def job_spec(value: Any, path: Path, report: Report) -> None:
    """The spec of a Job, as the template of a CronJob has it. Upstream: ValidateJobSpec()."""
    before = len(report.problems)
    _template(value, path, report)
    if len(report.problems) == before:
        _refuse_contradictions(value, path, report)


def _refuse_contradictions(spec: dict[str, Any], path: Path, report: Report) -> None:
    """Fields that need each other. Upstream: ValidateJobSpec(), validatePodFailurePolicy()."""
    indexed = spec.get("completionMode") == "Indexed"
    completions: int | None = spec.get("completions")
    if indexed and completions is None:
        report.add((*path, "completions"), None, "when completion mode is Indexed")
    if indexed and completions is not None and completions > MOST_INDEXES:
        message = f"must be less than or equal to {MOST_INDEXES}"
        report.add((*path, "completions"), completions, message)
    for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if spec.get(name) is not None and not indexed:
            report.add((*path, name), spec[name], "requires indexed completion mode")
    policy: dict[str, Any] | None = spec.get("podFailurePolicy")
    if policy is None:
        return
    if spec["template"]["spec"].get("restartPolicy") != "Never":
        where = (*path, "template", "spec", "restartPolicy")
        message = 'only "Never" is supported when podFailurePolicy is specified'
        report.add(where, spec["template"]["spec"].get("restartPolicy"), message)
    rules = cast("list[dict[str, Any]]", policy["rules"])
    for index, rule in enumerate(rules):
        where = (*path, "podFailurePolicy", "rules", index)
        if bool(rule.get("onExitCodes")) is bool(rule.get("onPodConditions")):
            message = "specifying one of OnExitCodes and OnPodConditions is required"
            if rule.get("onExitCodes"):
                message = "specifying both OnExitCodes and OnPodConditions is not supported"
            report.add(where, rule, message)
        if rule["action"] == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            message = "requires the use of backoffLimitPerIndex"
            report.add((*where, "action"), rule["action"], message)


# The labels that the API server gives to the pods of a Job, in their older and newer form.
_JOB_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")


def job_with_selector(value: Any, path: Path, report: Report) -> None:
    """A Job, whose selector is generated unless it says that it is not.

    Upstream: pkg/apis/batch/validation, ValidateJob(), validateGeneratedSelector().
    """
    before = len(report.problems)
    workload(value, path, report)
    _job(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    _refuse_contradictions(spec, (*path, "spec"), report)
    labels = template_labels(spec)
    if spec.get("selector") is None:
        if spec.get("manualSelector"):
            report.add((*path, "spec", "selector"), None, "is missing")
        return
    selector = LabelSelector.parse(spec["selector"])
    if not spec.get("manualSelector"):
        generated = _generated_labels(mapping_in(value.get("metadata")), labels)
        if not selector.matches(generated):
            where = (*path, "spec", "selector")
            report.add(where, spec["selector"], "`selector` not auto-generated")
            return
        labels = {name: generated[name] for name in ("controller-uid", "job-name")} | labels
    refuse_mismatch(selector, labels, path, report)


def _generated_labels(metadata: dict[str, Any], labels: dict[str, str]) -> dict[str, str]:
    """What the API server labels the pods of a Job with.

    A Job whose uid was taken out of a dump had the one that its template still names.
    """
    named = next((labels[name] for name in _JOB_UID if name in labels), "")
    uid, name = metadata.get("uid") or named, metadata.get("name") or ""
    return {**dict.fromkeys(_JOB_UID, uid), **dict.fromkeys(_JOB_NAME, name)}
