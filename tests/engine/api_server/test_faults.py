"""What a fault has to look like, and what an upload is told when one does not."""

from typing import Any

import pytest

from engine.api_server.store.faults import Strikes, check, invalid
from engine.input.loader import load_files
from engine.kernel.errors import Invalid
from engine.kernel.rng import Stream

_HEADER = """\
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: broken}
spec:
  faults:
    - {lag: Pod, delay: 5s}
    - fail: mount
      volume: pv
      times: never
  steps:
    - {at: 1s, cordon: n1}
    - at: 2s
      fault:
        slow: pv-controller
        delay: soon
"""


def test_a_bad_fault_is_reported_with_its_place() -> None:
    problems = load_files([("broken.yaml", _HEADER.encode())]).problems
    assert [(p.file, p.line, p.field, p.value) for p in problems] == [
        ("broken.yaml", 9, "spec.faults[1].times", '"never"'),
        ("broken.yaml", 15, "spec.steps[1].fault.delay", '"soon"'),
    ]


@pytest.mark.parametrize(
    ("fault", "field", "why"),
    [
        (7, "", "a fault is a mapping"),
        ({}, "", "a fault has exactly one of fail, slow,"),
        ({"fail": "mount", "lag": "Pod"}, "", "a fault has exactly one of"),
        ({"fail": "reboot"}, "fail", "must be one of write, provision, delete,"),
        ({"fail": "write"}, "by", "must be one of pv-controller,"),
        ({"fail": "write", "by": "command"}, "by", "must be one of pv-controller,"),
        ({"fail": "write", "by": "scheduler", "reason": "Gone"}, "reason", "must be one of"),
        ({"fail": "mount", "claim": "default/c"}, "claim", "does not go with fail: mount; known"),
        ({"fail": "provision", "volume": "pv"}, "volume", "does not go with fail: provision"),
        ({"fail": "mount", "times": 0}, "times", "expected a number from 1 to"),
        ({"fail": "mount", "times": 10**30}, "times", "expected a number from 1 to 2147483647"),
        ({"fail": "mount", "times": True}, "times", "expected a number from 1 to"),
        ({"fail": "mount", "probability": 2}, "probability", "expected a number from 0 to 1"),
        ({"fail": "mount", "node": 5}, "node", "expected a text"),
        ({"slow": "nobody", "delay": 1}, "slow", "must be one of pv-controller,"),
        ({"slow": "scheduler"}, "delay", "slow needs a delay"),
        ({"slow": "scheduler", "delay": "x"}, "delay", '"x" is not a duration like 500ms'),
        ({"lag": "Pod", "delay": -1}, "delay", "-1 is not a duration"),
        ({"lag": "", "delay": 1}, "lag", "expected a name"),
        ({"place": "default/c"}, "zone", "place needs a zone"),
        ({"restart": "n1", "times": 2}, "times", "does not go with restart"),
        ({"absent": ["csi"]}, "absent", "expected a name"),
    ],
)
def test_a_senseless_fault_is_refused_at_its_field(fault: Any, field: str, why: str) -> None:
    wrong = check(fault)
    assert wrong is not None
    assert wrong.field == field
    assert why in wrong.why
    with pytest.raises(Invalid, match=field or "fault"):
        invalid(fault)


@pytest.mark.parametrize(
    "fault",
    [
        {"fail": "provision", "claim": "default/c", "times": 3},
        {"fail": "provision", "probability": 0.5},
        {"fail": "attach", "node": "n1", "probability": 1},
        {"fail": "write", "by": "attach-detach", "kind": "Node", "reason": "InternalError"},
        {"slow": "kubelet", "delay": "1s", "kind": "Pod", "times": 2},
        {"lag": "Pod"},
        {"restart": "kube-controller-manager"},
    ],
)
def test_what_makes_sense_is_taken(fault: dict[str, Any]) -> None:
    assert check(fault) is None


def test_a_fault_strikes_by_count_or_by_chance() -> None:
    stream = Stream(1)

    def struck(fault: dict[str, Any], calls: int) -> int:
        strikes = Strikes.of(fault)
        return sum(strikes.strikes(stream) for _ in range(calls))

    assert struck({}, 10) == 1
    assert struck({"times": 3}, 10) == 3
    assert struck({"times": 3, "probability": 1}, 10) == 3
    assert 200 < struck({"probability": 0.25}, 1000) < 300
    assert struck({"times": 5, "probability": 0.5}, 1000) == 5
