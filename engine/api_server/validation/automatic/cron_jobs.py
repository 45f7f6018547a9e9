"""Rules for CronJobs. Upstream: pkg/apis/batch/validation, ValidateCronJobCreate()."""

from __future__ import annotations

import re
from typing import Any, Final

from engine.api_server.validation.jobs import job_spec
from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import boolean, fields, list_of, one_of, text, timestamp
from engine.api_server.validation.shared import (
    kind_fields,
    labels_and_annotations,
    mapping_in,
    natural_number,
)
from engine.objects.documents import Path
from engine.objects.values.cron import ScheduleError, parse_schedule
from engine.objects.values.time_zones import UnknownTimeZone, time_zone

# A name of a Job has at most 63 characters, and the controller appends 11.
_LONGEST_NAME: Final = 52
_BOTH_ZONES: Final = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
_NOT_EXPLICIT: Final = (
    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
)
# Upstream: validTimeZoneCharacters.
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}", re.ASCII)


def _schedule(value: Any, path: Path, report: Report) -> None:
    """Upstream: validateScheduleFormat()."""
    if not value:
        report.add(path, None, "is missing")
        return
    try:
        parse_schedule(value)
    except ScheduleError as error:
        report.add(path, value, str(error))


def _zone(value: Any, path: Path, report: Report) -> None:
    """Upstream: validateTimeZone()."""
    if not value:
        report.add(path, value, "timeZone must be nil or non-empty string")
    elif value.lower() == "local":
        report.add(path, value, _NOT_EXPLICIT)
    elif not all(_is_zone_part(part) for part in value.split("/")):
        report.add(path, value, f"unknown time zone {value}")
    else:
        try:
            time_zone(value)
        except UnknownTimeZone as error:
            report.add(path, value, str(error))


def _is_zone_part(part: str) -> bool:
    return part not in (".", "..") and part[:1] != "-" and bool(_ZONE_PART.fullmatch(part))


_cron_job = kind_fields(
    ("spec",),
    spec=fields(
        ("schedule", "jobTemplate"),
        schedule=_schedule,
        timeZone=_zone,
        startingDeadlineSeconds=natural_number,
        concurrencyPolicy=one_of("Allow", "Forbid", "Replace"),
        suspend=boolean,
        jobTemplate=fields(("spec",), metadata=labels_and_annotations, spec=job_spec),
        successfulJobsHistoryLimit=natural_number,
        failedJobsHistoryLimit=natural_number,
    ),
    status=fields(
        active=list_of(fields(name=text, namespace=text, uid=text)),
        lastScheduleTime=timestamp,
        lastSuccessfulTime=timestamp,
    ),
)


def cron_job(value: Any, path: Path, report: Report) -> None:
    """A CronJob, whose Jobs get a selector of their own."""
    before = len(report.problems)
    _cron_job(value, path, report)
    if len(report.problems) > before:
        return
    name = mapping_in(value.get("metadata")).get("name")
    if isinstance(name, str) and len(name) > _LONGEST_NAME:
        where = (*path, "metadata", "name")
        report.add(where, name, f"must be no more than {_LONGEST_NAME} characters")
    spec = value["spec"]
    if "TZ" in spec["schedule"] and spec.get("timeZone") is not None:
        report.add((*path, "spec", "schedule"), spec["schedule"], _BOTH_ZONES)
    _refuse_selector(spec["jobTemplate"]["spec"], (*path, "spec", "jobTemplate", "spec"), report)


def _refuse_selector(job: dict[str, Any], path: Path, report: Report) -> None:
    """Upstream: ValidateJobTemplateSpec()."""
    if job.get("selector") is not None:
        report.add((*path, "selector"), job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        report.add((*path, "manualSelector"), True, "supported values: nil, false")
