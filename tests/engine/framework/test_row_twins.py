"""A rule that plugins have twice, for columns and for one row in plain ints, is one rule (ADR 0024)."""

import random
from dataclasses import replace

import numpy as np
import pytest

from engine.framework import names, runtime
from engine.framework.columns.row_plugins import (
    JudgesRow,
    MakesRowFilter,
    MakesRowScore,
    MaySkip,
    TellsApart,
)
from engine.framework.framework import FITS, Code, CodesRow, CycleState, FilterPlugin
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from tests.engine.framework.test_cells import Twins, played, random_pod, random_template
from tests.samples import sample

OPTIONAL = (
    names.CHECK_NODE_LABEL_PRESENCE,
    names.CHECK_NODE_CONDITION,
    names.CHECK_NODE_MEMORY_PRESSURE,
    names.CHECK_NODE_DISK_PRESSURE,
    names.CHECK_NODE_PID_PRESSURE,
)


def with_optional_predicates(profile: Profile) -> Profile:
    if not profile.rules.uses_predicates:
        return profile
    labels = {names.CHECK_NODE_LABEL_PRESENCE: {"labels": ["disk"], "presence": True}}
    filters = tuple(dict.fromkeys((*profile.filters, *OPTIONAL)))
    return replace(profile, filters=filters, arguments={**profile.arguments, **labels})


def assert_rows_filtered_alike(framework: Framework, state: CycleState, rows: IntArray) -> int:
    compared = 0
    for plugin in framework.plugins.filter:
        if not isinstance(plugin, MakesRowFilter):
            continue
        quick = plugin.row_filter(state)
        if quick is None:
            continue
        expected = (plugin.filter(state, rows) == FITS).tolist()
        assert quick.fits(rows).tolist() == expected, plugin.name
        assert [quick.fits_row(row) for row in rows.tolist()] == expected, plugin.name
        compared += 1
    return compared


def assert_rows_coded_alike(framework: Framework, state: CycleState, rows: IntArray) -> int:
    coding = [one for one in framework.plugins.filter if isinstance(one, CodesRow)]
    for plugin in coding:
        codes = plugin.filter(state, rows).tolist()
        assert [plugin.code_at(state, row) for row in rows.tolist()] == codes, plugin.name
    return len(coding)


def assert_rows_scored_alike(framework: Framework, state: CycleState, rows: IntArray) -> int:
    compared = 0
    for preparing in framework.plugins.pre_score:
        if preparing.pre_score(state, rows).code is Code.SKIP:
            state.skip_score.add(preparing.name)
    for plugin, _ in framework.plugins.score:
        if plugin.name in state.skip_score:
            continue
        quick = plugin.row_score(state) if isinstance(plugin, MakesRowScore) else None
        if quick is None:
            continue
        expected = plugin.score(state, rows).tolist()
        assert quick.score(rows).tolist() == expected, plugin.name
        assert [quick.score_row(row) for row in rows.tolist()] == expected, plugin.name
        compared += 1
    return compared


def assert_rows_judged_alike(plugin: FilterPlugin, state: CycleState, rows: IntArray) -> int:
    if not (isinstance(plugin, JudgesRow) and isinstance(plugin, TellsApart)):
        return 0
    if isinstance(plugin, MaySkip) and not plugin.concerns(state):
        return 0
    if plugin.look(state) is None or plugin.name in state.skip_filter:
        return 0
    expected = (plugin.filter(state, rows) == FITS).tolist()
    assert [plugin.fits_row(state, row) for row in rows.tolist()] == expected, plugin.name
    return 1


def cluster_of(draw: random.Random, version: str) -> Twins:
    return played(draw, version, draw.choice([8, 40]), 60, by_name=False)


@pytest.mark.parametrize("version", ["v1.11", "v1.16", "v1.20", "v1.34", "v1.36"])
@pytest.mark.parametrize("seed", sample(range(4), 2))
def test_one_row_is_decided_as_columns_are(seed: int, version: str) -> None:
    draw = random.Random(f"twins {seed} {version}")
    twins = cluster_of(draw, version)
    profile = with_optional_predicates(twins.config)
    algorithm = SchedulingAlgorithm(profile, twins.full.handle)
    framework, rows = algorithm.framework, np.array(twins.full.table.active, np.int64)
    compared = 0
    for number in range(12):
        pod = PodInfo(random_pod(draw, random_template(draw), number), twins.rules)
        state = framework.new_state(pod)
        status, _, _ = framework.run_pre_filters(state)
        if status.is_success:
            compared += assert_rows_filtered_alike(framework, state, rows)
            compared += assert_rows_coded_alike(framework, state, rows)
            compared += assert_rows_scored_alike(framework, state, rows)
        for plugin in framework.plugins.filter:
            compared += assert_rows_judged_alike(plugin, framework.new_state(pod), rows)
    assert compared >= 12


def test_refusals_are_counted_alike_with_and_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    for _ in range(200):
        size = chance.randrange(runtime.FEW_ROWS)
        plugins, codes = ([chance.randrange(4) for _ in range(size)] for _ in range(2))
        rows, plugin, code = (np.array(each, np.int64) for each in (range(size), plugins, codes))
        verdicts = runtime.Verdicts(rows, plugin, code)
        in_a_loop = verdicts.kinds()
        with monkeypatch.context() as never:
            never.setattr(runtime, "FEW_ROWS", -1)
            assert verdicts.kinds() == in_a_loop
