"""Pictures of the documents: which are shown, which are committed, and how large those are."""

import re
from pathlib import Path

import pytest

from tests.docs import truth
from tests.docs.documents import ROOT, paths
from tests.pictures.scenes import README, SCENES, Scene

COMMITTED = ROOT / "docs" / "pictures"
MOST_BYTES = 150_000
PLACE = re.compile(r"^<!-- picture: ([\w-]+): .+ -->$", re.MULTILINE)
SHOWN = re.compile(r"!\[.+\]\(docs/pictures/([\w-]+)\.webp\)")


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.name)
def test_pages_show_pictures_that_are_taken(path: Path) -> None:
    assert set(PLACE.findall(path.read_text())) <= {scene.name for scene in SCENES}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_a_page_of_a_demo(scene: Scene) -> None:
    assert truth.is_address(scene.address.format(id=1, seq=1, fork=2))
    titles = [path.read_text() for path in (ROOT / "scenarios").glob("*.yaml")]
    assert not scene.run or any(f"title: {scene.run}\n" in text for text in titles)


def test_the_readme_shows_what_is_committed() -> None:
    assert tuple(SHOWN.findall((ROOT / "README.md").read_text())) == README
    assert {path.name for path in COMMITTED.iterdir()} == {f"{name}.webp" for name in README}


@pytest.mark.parametrize("name", README)
def test_a_committed_picture_is_small(name: str) -> None:
    data = (COMMITTED / f"{name}.webp").read_bytes()
    assert (data[:4], data[8:12]) == (b"RIFF", b"WEBP")
    assert len(data) <= MOST_BYTES
