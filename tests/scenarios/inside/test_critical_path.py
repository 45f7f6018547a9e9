"""Why one pod of a busy cluster took half a minute."""

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.steps import Path
from engine.kernel.units import SECOND
from tests.scenarios.inside.csi_surge import csi_surge
from tests.scenarios.inside.held_record import HeldRecord


def path_of(pod: str, until: float = 80) -> Path:
    events = [event for event in csi_surge().events if event.at <= until * SECOND]
    found = critical_path(HeldRecord(events), f"pod/{pod}", now=int(until * SECOND))
    assert found is not None
    return found


def answer(path: Path) -> list[tuple[str, str, int | None, float]]:
    return [
        (
            step.name,
            step.object.split("/")[-1],
            step.seq,
            round((step.end - step.start) / SECOND, 3),
        )
        for step in path.steps
    ]


def test_a_slow_pod_waited_mostly_for_its_victims() -> None:
    path = path_of("shop/ledger-3")
    assert answer(path) == [
        ("attempt", "ledger-3", 1104, 0.202),
        ("grace", "build-52", 1401, 7.88),
        ("overtaken", "payments-5", 1456, 1.489),
        ("grace", "build-48", 1775, 8.932),
        ("backoff", "ledger-3", 1791, 0.484),
        ("attempt", "ledger-3", 1792, 0.045),
        ("binding", "ssd-2", 1816, 1.005),
        ("attach", "node-b2", 1868, 4.233),
        ("kubelet", "ledger-3", 1928, 3.731),
        ("mount", "ledger-3", 1952, 0.85),
        ("start", "ledger-3", 1962, 1.039),
    ]
    assert path.end - path.start == 29_889_206_398


def test_sums_of_a_path_lead_with_the_largest() -> None:
    sums = path_of("shop/ledger-3").to_dict()["sums"]
    assert [(each["name"], round(each["sum"] / SECOND, 1)) for each in sums[:3]] == [
        ("grace", 16.8),
        ("attach", 4.2),
        ("kubelet", 3.7),
    ]


def test_grace_names_every_pod_that_had_to_leave() -> None:
    second = path_of("shop/ledger-3").steps[3]
    assert second.objects == ("pod/shop/web-21", "pod/shop/web-20", "pod/ci/build-48")


def test_an_unfinished_path_ends_now_with_its_wait() -> None:
    path = path_of("shop/ledger-3", until=52)
    assert path.is_open
    assert answer(path)[-1] == ("grace", "web-21", None, 2.429)


def test_an_unfinished_path_may_wait_for_the_kubelet() -> None:
    assert answer(path_of("shop/ledger-3", until=65))[-1] == ("kubelet", "ledger-3", None, 0.731)


def test_a_hopeless_pod_waits_with_its_reason() -> None:
    last = path_of("ml/train-0").steps[-1]
    assert (last.name, last.seq) == ("unschedulable", None)
    assert "nodes are available" in last.message


def test_a_gated_pod_waits_for_its_gate() -> None:
    assert answer(path_of("ml/train-1", until=40)) == [("gated", "train-1", None, 29.0)]


def test_tries_before_a_claim_binds_are_no_backoff() -> None:
    names = [step.name for step in path_of("shop/orders-0").steps]
    assert names[:4] == ["queue", "attempt", "unschedulable", "backoff"]


def test_a_pod_that_ran_before_has_no_steps() -> None:
    assert path_of("shop/web-0").steps == ()


def test_a_pod_that_never_was_has_no_path() -> None:
    assert critical_path(HeldRecord(csi_surge().events), "pod/shop/none", now=0) is None
