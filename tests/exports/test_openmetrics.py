"""Metrics, read with the parser of Prometheus' own client."""

from collections import Counter

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.exports.plays import DEMOS, Played, played


def read(run: Played) -> dict[str, list[tuple[str, dict[str, str], float, float]]]:
    """By metric its samples: name, labels, value, and seconds after the run's beginning."""
    begins = run.heading.unix(0) / 1e9
    return {
        family.name: [
            (each.name, each.labels, each.value, round(float(each.timestamp) - begins, 3))
            for each in family.samples
        ]
        for family in text_string_to_metric_families(run.written("openmetrics").decode())
    }


def last(samples: list[tuple[str, dict[str, str], float, float]]) -> dict[tuple[str, ...], float]:
    """The newest value of each series."""
    return {(name, *labels.values()): value for name, labels, value, _ in samples}


@pytest.mark.parametrize("demo", DEMOS)
def test_prometheus_reads_every_demo(demo: str) -> None:
    found = read(played(demo))
    assert "scheduler_pending_pods" in found
    assert "scheduler_scheduler_cache_size" in found


def test_attempts_are_those_of_the_run() -> None:
    run = played("checkout-surge")
    kinds = Counter(row.kind for row in run.rows)
    found = last(read(run)["scheduler_schedule_attempts"])
    name, profile = "scheduler_schedule_attempts_total", "default-scheduler"
    assert found[name, "scheduled", profile] == kinds["PodBound"] == 93
    assert found[name, "unschedulable", profile] == kinds["FailedScheduling"] == 230


def test_victims_add_up_to_evictions() -> None:
    run = played("checkout-surge")
    found = last(read(run)["scheduler_preemption_victims"])
    assert found["scheduler_preemption_victims_sum",] == 14


def test_gauges_fall_again_and_counters_never() -> None:
    found = read(played("checkout-surge"))
    counter = [
        value
        for _, labels, value, _ in found["scheduler_schedule_attempts"]
        if labels["result"] == "scheduled"
    ]
    assert counter == sorted(counter)
    pending = [
        value
        for _, labels, value, _ in found["scheduler_pending_pods"]
        if labels["queue"] == "unschedulable"
    ]
    assert max(pending) > pending[-1] >= 1


def test_samples_are_on_a_grid_of_time() -> None:
    run = played("checkout-surge")
    times = sorted({at for *_, at in read(run)["scheduler_pending_pods"]})
    assert all(at == round(at) for at in times[:-1])
    assert times[-1] == round(run.rows[-1].at / 1e9, 3)


def test_a_long_run_has_no_more_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kscope.exports.metrics.exposition._MOST_SAMPLES", 8)
    found = read(played("checkout-surge"))
    times = {at for *_, at in found["scheduler_pending_pods"]}
    assert 4 <= len(times) <= 9


def test_storage_is_counted_as_the_controller_does() -> None:
    run = played("local-volumes")
    found = read(run)
    bound = last(found["pv_collector_bound_pvc_count"])
    assert sum(bound.values()) == 3
    assert sum(last(found["pv_collector_bound_pv_count"]).values()) == 3
