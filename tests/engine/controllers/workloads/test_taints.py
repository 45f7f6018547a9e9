"""Which taints of a node keep the pods of controllers away."""

import pytest

from engine.objects.pods.tolerations import NO_EXECUTE, NO_SCHEDULE, untolerated

TAINT = {"key": "size", "value": "5", "effect": NO_EXECUTE}


@pytest.mark.parametrize(("operator", "accepts"), [("", True), ("Exists", True), ("Lt", False)])
def test_an_unknown_operator_tolerates_nothing(operator: str, accepts: bool) -> None:
    toleration = {"key": "size", "operator": operator, "value": "5"}
    found = untolerated([TAINT], [toleration], (NO_SCHEDULE, NO_EXECUTE), numbers=False)
    assert found == (None if accepts else TAINT)
