"""/metrics: what processes counted, added up, and what the tables say now."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from kscope.operations import presence
from kscope.operations.metrics import metrics_text
from kscope.runs import measures
from kscope.runs.drive import runner
from kscope.runs.models import Run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nobody_reports"),
]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def samples() -> dict[str, float]:
    """By name, with the labels as Prometheus writes them."""
    found = {}
    for family in text_string_to_metric_families(metrics_text().decode()):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def test_the_web_process_serves_a_workers_counts(start: Callable[..., Run]) -> None:
    run = start(play=True, speed="max")
    reporter = presence.Reporter("worker")
    runner.run_drive(run.pk)
    reporter.report()
    run.refresh_from_db()
    found = samples()
    assert found["kscope_events_total"] == run.head_seq
    assert found["kscope_slices_total"] == found["kscope_commit_seconds_count"] >= 1
    assert found["kscope_checkpoints_total"] == 1
    assert found["kscope_runs{status=finished}"] == 1
    assert found["kscope_processes{role=worker}"] == 1


def test_counts_of_two_processes_add_up(nobody_reports: object) -> None:
    first, second = presence.Reporter("worker"), presence.Reporter("worker")
    measures.EVENTS.inc(5)
    first.report()
    second.report()
    first.stop()
    assert samples()["kscope_events_total"] == 10


def test_a_report_that_failed_is_made_up_for(settings: Any) -> None:
    reporter = presence.Reporter("worker")
    measures.EVENTS.inc(3)
    address = settings.REDIS_URL
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    presence.client.cache_clear()
    with pytest.raises(presence.redis.RedisError):
        reporter.report()
    settings.REDIS_URL = address
    presence.client.cache_clear()
    reporter.report()
    reporter.report()
    assert samples()["kscope_events_total"] == 3


def test_histograms_have_all_their_buckets_in_order(nobody_reports: object) -> None:
    reporter = presence.Reporter("worker")
    measures.SLICE_SECONDS.observe(0.07)
    reporter.report()
    found = samples()
    buckets = [value for name, value in found.items() if name.startswith("kscope_slice_seconds_b")]
    assert len(buckets) == 12
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[-1]) == (0, 1)


def test_histograms_are_whole_after_valkey_forgot_them(nobody_reports: Any) -> None:
    reporter = presence.Reporter("worker")
    reporter.report()
    nobody_reports.delete("kscope:counts")
    measures.SLICE_SECONDS.observe(0.07)
    reporter.report()
    found = samples()
    assert found["kscope_slice_seconds_bucket{le=0.005}"] == 0
    assert found["kscope_slice_seconds_count"] == 1


def test_requests_are_counted_by_view_name(client: Client) -> None:
    reporter = presence.Reporter("web")
    client.get("/api/v1/runs/7777/")
    client.get("/api/v1/runs/8888/")
    client.get("/no/such/page")
    reporter.report()
    found = samples()
    assert found["kscope_http_requests_total{method=GET,status=404,view=api-run}"] == 2
    assert found["kscope_http_requests_total{method=GET,status=404,view=none}"] == 1
    assert not any("7777" in name for name in found)


def test_only_admins_and_the_token_read_the_metrics(client: Client, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    settings.METRICS_TOKEN = "a long token"
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    allowed = client.get("/metrics", headers={"Authorization": "Bearer a long token"})
    assert allowed["Content-Type"].startswith("application/openmetrics-text")
    client.force_login(User.objects.create_user("viewer"))
    assert client.get("/metrics").status_code == 401
    client.force_login(User.objects.create_superuser("root"))
    assert client.get("/metrics").status_code == 200


def test_the_document_names_every_metric_and_no_other() -> None:
    written = set(re.findall(r"`(?:rate\()?(kscope_[a-z_]+)", DOCUMENT.read_text()))
    families = text_string_to_metric_families(metrics_text().decode())
    served = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    assert written == served
