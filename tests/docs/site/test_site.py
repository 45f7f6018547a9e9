"""The site is not built where a link leads nowhere, fetches nothing, and is in no package.

`make check` builds all of it.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import ROOT

CONF = ROOT / "docs" / "site"
HOME = "# Home\n\n## Some words\n\nSee [the words](#some-words) and [a page](page.md#more).\n"
# A page that Markdown shows as it is, without a list of pages.
LISTED = "\n```{toctree}\npage\n```\n"
PAGE = "# Page\n\n## More\n\n```sh\ntrue\n```\n"


def build(room: Path, home: str) -> subprocess.CompletedProcess[str]:
    """Build a site of two pages."""
    (room / "docs").mkdir()
    (room / "docs" / "README.md").write_text(home)
    (room / "docs" / "page.md").write_text(PAGE)
    words = ["-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(CONF), str(room)]
    return subprocess.run(
        [sys.executable, *words, str(room / "site")], capture_output=True, text=True, check=False
    )


def test_a_site_fetches_nothing(tmp_path: Path) -> None:
    done = build(tmp_path, HOME + LISTED)
    assert (done.returncode, done.stderr) == (0, "")
    made = [path for path in (tmp_path / "site").rglob("*") if path.suffix in (".html", ".css")]
    loads = r"""(?:<(?:script|img|link)\b[^>]*(?:src|href)=|url\(|@import )["']?(?:https?:)?//"""
    assert [path.name for path in made if re.search(loads, path.read_text())] == []
    assert (tmp_path / "site" / "_static" / "inter-latin-wght-normal.woff2").exists()
    assert "docs/README.html" in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize(
    ("home", "said"),
    [
        (HOME.replace("page.md", "pages.md") + LISTED, "pages.md"),
        (HOME.replace("#more", "#less") + LISTED, "less"),
        (HOME.replace("#some-words", "#no-words") + LISTED, "no-words"),
        (HOME, "page.md: WARNING: document isn't included in any toctree"),
    ],
    ids=["page", "heading of a page", "heading", "unlisted page"],
)
def test_what_leads_nowhere_fails_the_build(tmp_path: Path, home: str, said: str) -> None:
    done = build(tmp_path, home)
    assert done.returncode == 1
    assert said in done.stderr


def test_no_package_ships_the_site() -> None:
    left_out = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"build", "docs/site", "docs/samples", "docs/pictures"} <= set(left_out)
    assert "include docs/*.md" in (ROOT / "MANIFEST.in").read_text().splitlines()
    assert "/build/" in (ROOT / ".gitignore").read_text().splitlines()
