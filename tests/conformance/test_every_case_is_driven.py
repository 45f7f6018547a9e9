"""Every case of the table tests and traces is driven by a test, or named here with its reason."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.conformance as conformance
from tests.conformance.vectors import Json, load
from tests.vectors import vector_set, why_absent

TABLES = "kubernetes-1.20"
TRACES = ("queue-traces.json", "cache-traces.json")
DECISIONS = (
    *(f"decisions-{version}" for version in ("v1.11", "v1.16", "v1.34", "v1.36", "v1.36-features")),
    *(f"{family}-v1.36" for family in ("sampling", "batching", "gangs")),
)

# Cases that no test takes as a parameter → the test of the same module that plays them.
PLAYED = {
    "TestPriorityQueue_Pop": "test_v1_20_pop_returns_an_added_pod_at_once",
    "TestSchedulingQueue_Close": "test_v1_20_pop_returns_an_added_pod_at_once",
    "TestPriorityQueue_NewWithOptions": "test_v1_20_backoff_comes_from_the_configuration",
    "TestNodeTree_List_Exhausted": "test_listing_a_miscounted_tree_is_an_error",
    # Sequences that the vectors give in words.
    "TestRestorePV (same for TestRestorePVC)": "test_a_restored_object_is_kept_as_upstream",
    "TestBasicPVCache": "test_volumes_are_listed_by_storage_class",
    "TestPVCacheWithStorageClasses": "test_volume_cache_with_storage_classes",
    "TestAssumeUpdatePVCache": "test_the_same_version_keeps_the_assumed_object",
    "TestAssumeUpdatePVCCache": "test_the_same_version_keeps_the_assumed_object",
}

# Where a file keeps its cases, besides the keys that all files share.
_NESTED = ("resourceVersionCache", "delayBindingMode", "migrationAnnotations")


def _cases_of(file: Json) -> Iterator[tuple[str, Json]]:
    """(upstream's test, case) of each case of a file of table tests."""
    for case in file.get("cases", ()):
        yield case["upstreamTest"], case
    for group, cases in [*file.get("groups", {}).items(), *file.get("tables", {}).items()]:
        for case in cases:
            yield case.get("upstreamTest", group), case
    for each in (*file.get("sequences", ()), *file.get("otherTests", ())):
        yield each["upstreamTest"], each
    for key in _NESTED:
        for case in (*file.get(key, {}).get("cases", ()), *file.get(key, {}).get("sequences", ())):
            yield case.get("upstreamTest", key), case
    for test in file.get("tests", ()):
        if test.get("steps") or not test.get("cases"):
            yield test["upstreamTest"], test
        for case in test.get("cases", ()):
            yield test["upstreamTest"], case


def _modules() -> list[Any]:
    here = Path(__file__).parent
    files = (path for path in sorted(here.rglob("test_*.py")) if path != Path(__file__))
    names = (".".join(path.relative_to(here).with_suffix("").parts) for path in files)
    return [importlib.import_module(f"{conformance.__name__}.{name}") for name in names]


def _parameters() -> Iterator[Any]:
    """What the conformance tests are parametrised with."""
    for module in _modules():
        for name, function in vars(module).items():
            for mark in getattr(function, "pytestmark", ()) if name.startswith("test_") else ():
                if mark.name == "parametrize":
                    for each in mark.args[1]:
                        yield from getattr(each, "values", (each,))


def _parts(value: Any) -> Iterator[int]:
    """The identities of *value* and of what is directly in it.

    A test may get a copy of a case, with the lists of the original; a pair of a case and its name or
    file; a test of upstream with all its cases; or a list of steps.
    """
    if isinstance(value, dict):
        # "before" is the test around a case: it does not stand for the test's other cases.
        within = [each for key, each in value.items() if key != "before"]
        if "upstreamTest" in value:
            within += value.get("cases", [])
    else:
        within = value if isinstance(value, (tuple, list)) else ()
    yield from (id(each) for each in (value, *within) if isinstance(each, (dict, list)) and each)


def _not_driven(cases: Iterable[tuple[str, Json]]) -> list[str]:
    driven = {part for value in _parameters() for part in _parts(value)}
    return [
        f"{test} {case.get('name', '')}"
        for test, case in cases
        if driven.isdisjoint([*_parts(case), *_parts(case.get("steps"))])
    ]


def _files() -> list[Any]:
    found = sorted(vector_set(TABLES).glob("*.json"))
    if not found:
        return [pytest.param("", marks=pytest.mark.skip(reason=why_absent(TABLES)))]
    return [path.name for path in found]


@pytest.mark.parametrize("name", _files())
def test_every_table_case_is_driven(name: str) -> None:
    cases = list(_cases_of(load(TABLES, name)))
    assert cases
    assert not _not_driven((test, case) for test, case in cases if test not in PLAYED)


@pytest.mark.parametrize("name", TRACES)
def test_every_trace_is_driven(name: str) -> None:
    traces = load("scheduler-1.16", name)
    assert not _not_driven((trace["name"], trace) for trace in traces)


def test_cases_without_parameters_have_a_test() -> None:
    assert {*PLAYED.values()} <= {name for module in _modules() for name in vars(module)}


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decisions_file_is_driven(name: str) -> None:
    files = {path for path in vector_set(name).iterdir() if path.suffix == ".json"}
    scenarios = {path.with_suffix(".json") for path in _parameters() if isinstance(path, Path)}
    assert files
    assert files <= scenarios
