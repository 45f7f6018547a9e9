"""Pictures of the documents: which are shown, which are committed, and how large those are."""

import re
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, paths
from tests.pictures.scenes import README, SCENES

COMMITTED = ROOT / "docs" / "pictures"
MOST_BYTES = 150_000
PLACE = re.compile(r"^<!-- picture: ([\w-]+): .+ -->$", re.MULTILINE)
SHOWN = re.compile(r"!\[.+\]\(docs/pictures/([\w-]+)\.webp\)")


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.name)
def test_pages_show_pictures_that_are_taken(path: Path) -> None:
    assert set(PLACE.findall(path.read_text())) <= {scene.name for scene in SCENES}


def test_the_readme_shows_what_is_committed() -> None:
    assert tuple(SHOWN.findall((ROOT / "README.md").read_text())) == README
    assert {path.name for path in COMMITTED.iterdir()} == {f"{name}.webp" for name in README}


@pytest.mark.parametrize("name", README)
def test_a_committed_picture_is_small(name: str) -> None:
    data = (COMMITTED / f"{name}.webp").read_bytes()
    assert (data[:4], data[8:12]) == (b"RIFF", b"WEBP")
    assert len(data) <= MOST_BYTES
