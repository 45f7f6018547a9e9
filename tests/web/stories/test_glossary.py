"""The words that pages explain: every plugin has one, and each leads to what there is."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.scheduler.configuration.profiles import IN_TREE
from engine.versions.registry import VERSIONS
from kscope.concepts.table import sections as concepts
from kscope.documents.tables import Table, read_tables
from kscope.glossary import DOCUMENTS, explanations_href, sections, terms
from kscope.runs.editing.configurations import in_force


def all_terms() -> list[Any]:
    return [term for document in DOCUMENTS for each in sections(document) for term in each.terms]


def plugins(profile: str) -> set[str]:
    """The plugins that a scheduler of that version has by default."""
    found = in_force({}, profile=profile, gates={}, own=None)["schedulers"]
    return {
        plugin["name"]
        for scheduler in found
        for one in scheduler["profiles"]
        for point in one["points"]
        for plugin in point["plugins"]
    }


@pytest.mark.parametrize("profile", VERSIONS)
def test_every_plugin_of_a_version_is_explained(profile: str) -> None:
    names = plugins(profile)
    assert len(names) > 10
    assert {name for name in names if name.lower() not in terms()} == set()


def test_every_plugin_that_can_be_chosen_is_explained() -> None:
    assert {name for name in IN_TREE if name.lower() not in terms()} == set()


def test_every_word_stands_once() -> None:
    names = [name.lower() for term in all_terms() for name in term.names]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    anchors = [term.anchor for term in all_terms()]
    assert all(anchors)
    assert len(set(anchors)) == len(anchors)


def test_words_are_shown_by_concepts_that_there_are() -> None:
    known = {one.anchor for section in concepts() for one in section.concepts if one.seen}
    shown = {term.concept for term in all_terms() if term.concept}
    assert len(shown) > 15
    assert shown <= known


def test_pages_get_all_words_once(client: Client) -> None:
    page = client.get("/glossary/").content.decode()
    assert f'data-words="{explanations_href()}"' in page
    answer = client.get(explanations_href())
    told = {name: text for names, text, _ in answer.json()["terms"] for name in names}
    assert told["claim"] == "an object that asks for storage of a size, a class and access modes"
    assert told["PVC"] == told["claim"]
    assert "immutable" in answer.headers["Cache-Control"]
    assert "Cache-Control" not in client.get("/glossary/explanations/?v=old").headers


def test_a_cell_may_hold_a_bar_in_code(tmp_path: Path, settings: Any) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "some.md").write_text(
        "# T\n\n## S\n\n| a | b |\n|---|---|\n| x | `p|q` y |\n"
    )
    assert read_tables("some.md") == [Table("S", ("a", "b"), (("x", "`p|q` y"),))]
