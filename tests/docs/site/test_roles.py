"""The pages for roles lead to demos, concepts and lessons that there are."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from engine.cluster.cluster import Cluster
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from kscope.concepts.table import sections
from tests.docs import truth
from tests.docs.documents import ROOT

ROLES = sorted((ROOT / "docs" / "roles").glob("*.md"))
ADDRESS = re.compile(r"\]\(http://localhost:8000(/[^)]+)\)")
CONCEPTS = {one.anchor for each in sections() for one in each.concepts if one.seen}


def addresses() -> Iterator[str]:
    for page in ROLES:
        yield from ADDRESS.findall(page.read_text())


@pytest.mark.parametrize("page", ROLES, ids=lambda path: path.stem)
def test_a_role_has_links_to_what_is_seen(page: Path) -> None:
    assert ADDRESS.search(page.read_text())


@pytest.mark.parametrize("address", sorted(set(addresses())))
def test_links_lead_to_what_there_is(address: str) -> None:
    parts = urlsplit(address)
    room, _, name = parts.path.strip("/").partition("/")
    if not name:
        assert truth.is_address(address)
    elif room == "concepts":
        assert name in CONCEPTS
    elif room == "lessons":
        lessons = (ROOT / "scenarios" / "lessons").glob(f"*/*-{name}.yaml")
        assert f"name: {name}\n" in next(lessons).read_text()
    else:
        assert room == "stories"
        pods = parse_qs(parts.query).get("pod", [])
        assert set(pods) <= pods_of(ROOT / "scenarios" / f"{name}.yaml")


def pods_of(path: Path) -> set[str]:
    """The pods that a demo ever has."""
    loaded = load_paths([path])
    assert loaded.ok
    scenario = Scenario.from_load(loaded, name=path.stem)
    cluster = Cluster.create(scenario)
    cluster.advance(scenario.until)
    events = cluster.take().events
    return {each.object.removeprefix("pod/") for each in events if each.kind == "PodCreated"} | {
        f"{each['metadata'].get('namespace', 'default')}/{each['metadata']['name']}"
        for each in loaded.manifests
        if each["kind"] == "Pod"
    }
