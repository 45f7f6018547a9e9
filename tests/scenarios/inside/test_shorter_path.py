"""What would have made a pod wait less, and whether a fork agrees."""

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.shorter import Change, changes_of
from engine.diagnosis.path.trying import tried
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from tests.scenarios.inside.csi_surge import csi_surge, csi_surge_after
from tests.scenarios.inside.held_record import HeldRecord

POD = "pod/shop/ledger-3"


def changes(pod: str = POD, until: float = 80) -> tuple[Change, ...]:
    events = [event for event in csi_surge().events if event.at <= until * SECOND]
    record = HeldRecord(events)
    path = critical_path(record, pod, now=int(until * SECOND))
    assert path is not None
    return changes_of(record, pod, path.steps, born=path.born)


def bound() -> Event:
    return next(
        event for event in csi_surge().events if event.object == POD and event.kind == "PodBound"
    )


def test_changes_lead_with_what_saves_most() -> None:
    found = [(each.name, round(each.saves / SECOND, 1)) for each in changes()]
    assert found == sorted(found, key=lambda each: -each[1])
    assert found[0] == ("node", 18.3)
    assert {name for name, _ in found} >= {"grace", "priority", "attach", "kubelet", "backoff"}


def test_a_short_grace_saves_all_but_itself() -> None:
    graces = [each for each in changes() if each.name == "grace"]
    assert [round(each.saves / SECOND, 2) for each in graces] == [7.93, 6.88]
    patched = {
        each.commands[0]["patch"]["spec"]["terminationGracePeriodSeconds"] for each in graces
    }
    assert patched == {1}


def test_a_priority_is_enough_above_the_rival() -> None:
    (priority,) = (each for each in changes() if each.name == "priority")
    assert priority.objects == ("pod/shop/payments-5",)
    assert priority.amount == 2001


def test_a_backoff_counts_only_where_room_was() -> None:
    (backoff,) = (each for each in changes() if each.name == "backoff")
    assert round(backoff.saves / SECOND, 2) == 0.48


def test_a_gated_pod_can_lose_its_gate() -> None:
    (gate,) = (each for each in changes("pod/ml/train-1", 40) if each.name == "gate")
    assert gate.commands[0]["patch"] == {"spec": {"schedulingGates": None}}


def test_a_pod_that_ran_before_has_no_changes() -> None:
    assert changes("pod/shop/web-0") == ()


def test_a_fork_says_what_a_grace_really_saves() -> None:
    last = max((each for each in changes() if each.name == "grace"), key=lambda each: each.seq or 0)
    outcome = tried(last, "shop/ledger-3", bound().at, csi_surge_after)
    assert outcome is not None
    assert outcome.refusal == ""
    assert outcome.saves is not None
    assert 0 < outcome.saves <= last.saves + SECOND


def test_what_no_command_does_is_not_tried() -> None:
    (attach,) = (each for each in changes() if each.name == "attach")
    assert tried(attach, "shop/ledger-3", bound().at, csi_surge_after) is None
