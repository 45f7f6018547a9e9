"""The page that plays offline is built whole, and out of nothing that asks a server."""

import re
import shutil
from pathlib import Path

import pytest

from kscope.static_files import one_file
from kscope.static_files.one_file import (
    DATA,
    REPLACED,
    TITLE,
    OneFileError,
    build,
    esbuild_binary,
    esbuild_package,
)

ROOM = Path(__file__).resolve().parents[3]
MODULES = ROOM / "node_modules"
ESBUILD = MODULES / esbuild_package() / esbuild_binary(esbuild_package())


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("page") / "built.html"
    build(ROOM, MODULES, ESBUILD, target)
    assert [each.name for each in target.parent.iterdir()] == ["built.html"]
    return target.read_text()


def test_nothing_in_the_page_can_ask(page: str) -> None:
    assert re.findall(r"\bfetch\(|\bWebSocket\b|XMLHttpRequest|EventSource|sendBeacon", page) == []


def test_the_page_has_both_marks_once(page: str) -> None:
    assert (page.count(TITLE), page.count(DATA)) == (1, 1)
    head = page.partition("<script>")[0]
    assert re.findall(r"\{\w+\}", head) == []


def test_licences_go_with_what_they_are_of(page: str) -> None:
    licences = page.partition('id="licences">')[2].partition("</script>")[0]
    for package in ("preact\n", "htm\n", "@preact/signals\n", "@fontsource-variable/inter\n"):
        assert package in licences
    assert "SIL OPEN FONT LICENSE" in licences.upper()


def test_every_offline_module_has_the_names_it_replaces() -> None:
    for name, offline in REPLACED.items():
        exported = [
            set(re.findall(r"^export (?:async )?(?:function|const|class) (\w+)", text, re.M))
            for text in (
                (ROOM / "static/js" / name).read_text(),
                (ROOM / "static/js/offline" / offline).read_text(),
            )
        ]
        assert exported[0] <= exported[1], name


def test_a_module_that_is_gone_ends_the_build(tmp_path: Path) -> None:
    for folder in ("js", "css"):
        shutil.copytree(ROOM / "static" / folder, tmp_path / "static" / folder)
    (tmp_path / "static/js/lib/api.js").unlink()
    with pytest.raises(OneFileError, match=r"static/js has no lib/api\.js"):
        build(tmp_path, MODULES, ESBUILD, tmp_path / "built.html")
    assert not (tmp_path / "built.html").exists()


def test_a_machine_without_esbuild_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_file.platform, "machine", lambda: "vax")
    with pytest.raises(OneFileError, match="no esbuild is known for .* vax"):
        esbuild_package()
