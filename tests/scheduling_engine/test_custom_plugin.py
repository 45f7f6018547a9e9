"""The example of docs/adding-a-plugin.md, as it stands there."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from scheduling.engine import registry
from scheduling.engine.algorithm import SchedulingAlgorithm
from scheduling.engine.framework import Code, CycleState, Detail, IntArray, Plugin, Status
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.pod_info import PodInfo
from scheduling.engine.profiles import PROFILES
from scheduling.engine.registry import UnknownPlugin
from tests.scheduling_engine.builders import make_node, make_pod


class QuietHours(Plugin):
    """Keeps pods off nodes that are labelled quiet, and prefers nodes with a long name."""

    name: ClassVar[str] = "QuietHours"
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._label = str(arguments.get("label", "quiet"))

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a quiet node."""
        return (self._table.topology(self._label).codes[rows] >= 0).astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNSCHEDULABLE, ("node(s) were quiet",), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The label."""
        return Detail(text=f"labelled {self._label}")

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The length of the name."""
        return np.array([len(self._table.name(row)) for row in rows.tolist()], np.int64)


class _Entry:
    name = QuietHours.name

    @staticmethod
    def load() -> type[QuietHours]:
        return QuietHours


def _entry_points(*, group: str) -> list[_Entry]:
    return [_Entry()] if group == registry.ENTRY_POINT_GROUP else []


@pytest.mark.parametrize("explain", [True, False])
def test_a_plugin_from_an_entry_point_filters_and_scores(
    explain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "entry_points", _entry_points)
    base = PROFILES["v1.34"]
    profile = replace(
        base,
        filters=(*base.filters, "QuietHours"),
        scores=(*base.scores, ("QuietHours", 10)),
        arguments={"QuietHours": {"label": "silent"}},
    )
    algorithm = SchedulingAlgorithm(profile, Handle())
    for node in (
        make_node("a"),
        make_node("long-name"),
        make_node("longest", labels={"silent": ""}),
    ):
        algorithm.table.add_node(node)
    pod = PodInfo(make_pod("p", cpu="1"), profile.resource_rules)
    assert algorithm.schedule(pod, explain=explain).node == "long-name"
    big = PodInfo(make_pod("q", cpu="5"), profile.resource_rules)
    assert "3 Insufficient cpu" in algorithm.schedule(big, explain=explain).message


def test_a_plugin_that_nobody_provides_is_told() -> None:
    profile = replace(PROFILES["v1.34"], filters=("NoSuchPlugin",))
    with pytest.raises(UnknownPlugin, match="there is no plugin 'NoSuchPlugin'; known are"):
        SchedulingAlgorithm(profile, Handle())
