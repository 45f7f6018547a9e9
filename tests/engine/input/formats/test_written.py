"""A scenario that is written down is read again as the same one."""

import orjson
import pytest
import yaml

from engine.diagnosis.first_look.first_look import reading
from engine.diagnosis.observed.evidence import Evidence
from engine.input.formats.written import list_of
from engine.input.load_result import LoadResult
from engine.input.loader import load_files, load_paths
from engine.input.scenario import Scenario
from engine.scheduler.configuration.scenario_schedulers import check_setup
from tests.exports.plays import DEMOS, ROOT

NODE = b"""
apiVersion: v1
kind: Node
metadata: {name: n1, uid: "1", resourceVersion: "4"}
status: {allocatable: {cpu: "4", pods: "10"}, nodeInfo: {kubeletVersion: v1.30.1}}
"""
VERSION = (
    b'{"clientVersion": {"gitVersion": "v1.36.0"}, "serverVersion": {"gitVersion": "v1.34.2"}}'
)
AT = "2026-11-29T00:00:00Z"


def written(loaded: LoadResult) -> tuple[Scenario, LoadResult]:
    """The scenario of files, and its document as it was read again."""
    assert loaded.problems == []
    scenario = Scenario.from_load(loaded, name="files", at=AT)
    aside = [each.manifest for each in loaded.kept_aside]
    plain = orjson.loads(orjson.dumps(list_of(scenario, aside)))
    again = load_files([("again.yaml", yaml.safe_dump(plain).encode())], check=check_setup)
    assert again.problems == []
    return scenario, again


def test_what_the_server_said_is_written_down() -> None:
    scenario, again = written(load_files([("node.yaml", NODE), ("version.json", VERSION)]))
    assert scenario.served == again.served == "v1.34.2"
    second = Scenario.from_load(again, name="files", at=AT)
    first_told, told = (
        reading("v1.34", each, Evidence(each.objects)).version for each in (scenario, second)
    )
    assert told == first_told
    assert (told.proposed, told.because) == (
        "v1.34.9",
        "The API server said that it is v1.34.2: that the scheduler is of the same is a guess.",
    )


def test_a_newer_word_of_the_server_counts_first() -> None:
    scenario, _ = written(load_files([("node.yaml", NODE), ("version.json", VERSION)]))
    document = orjson.dumps(list_of(scenario))
    newer = VERSION.replace(b"v1.34.2", b"v1.35.1")
    again = load_files([("again.json", document), ("version.json", newer)], check=check_setup)
    assert again.served == "v1.35.1"


def test_a_version_that_is_no_text_is_refused() -> None:
    header = b"{apiVersion: kscope.dev/v1, kind: Scenario, metadata: {name: a}, spec: {served: 5}}"
    (problem,) = load_files([("a.yaml", header)]).problems
    assert (problem.field, problem.message) == ("spec.served", "expected a text, found 5")


@pytest.mark.parametrize("demo", DEMOS)
def test_every_demo_is_read_again(demo: str) -> None:
    loaded = load_paths([ROOT / "scenarios" / f"{demo}.yaml"], check=check_setup)
    scenario, again = written(loaded)
    found = Scenario.from_load(again, name="files", at=AT)
    assert found.to_dict() == {**scenario.to_dict(), "source": found.source}
