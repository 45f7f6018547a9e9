"""What a wheel holds: one name, everything that runs, and browser modules by their hashes."""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program.asked import DATA, ROOT

sys.path.append(str(ROOT / "distribution"))
import browser_modules


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder such as site-packages, with the tree of the wheel."""
    folder = tmp_path_factory.mktemp("site-packages")
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:3];"
        "from tree import put_tree; put_tree(Path(sys.argv[3]))"
    )
    words = [str(ROOT), str(ROOT / "distribution"), str(folder / "kscope")]
    subprocess.run([sys.executable, "-c", code, *words], check=True)
    return folder


def _run(installed: Path, code: str) -> str:
    environment = {"PYTHONPATH": str(installed), "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=DATA,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_site_packages_gets_one_name(installed: Path) -> None:
    assert [each.name for each in installed.iterdir()] == ["kscope"]
    assert sorted(each.name for each in (installed / "kscope").iterdir()) == [
        "__init__.py",
        "_app",
        "cluster_fixture.py",
    ]


def test_documents_come_without_their_site(installed: Path) -> None:
    folder = installed / "kscope" / "_app" / "docs"
    assert {path.suffix for path in folder.rglob("*")} == {".md"}


def test_the_installed_program_answers_from_another_folder(installed: Path) -> None:
    code = (
        "import kscope, sys; from kscope.program.main import main;"
        "status = main(['triage', 'healthy.yaml']); import engine;"
        "print(status, kscope.__path__[0], engine.__file__)"
    )
    last = _run(installed, code).splitlines()[-1]
    app = installed / "kscope" / "_app"
    assert last == f"0 {app / 'kscope'} {app / 'engine' / '__init__.py'}"


def test_data_lie_outside_of_what_is_installed(installed: Path) -> None:
    code = "import kscope; from kscope.program.places import data_folder; print(data_folder())"
    assert _run(installed, code) == "/nonexistent/.local/share/kscope"


def test_every_served_file_comes_with_its_licence(installed: Path) -> None:
    from kscope.static_files.modules import SERVED

    modules = installed / "kscope" / "_app" / "node_modules"
    for file in SERVED:
        assert (modules / file).read_bytes() == (ROOT / "node_modules" / file).read_bytes()
        folder = modules / browser_modules.package_of(file)
        assert any(browser_modules._is_licence(each.name) for each in folder.iterdir()), file


def test_a_module_with_another_hash_is_refused() -> None:
    data = b"export default 1;"
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    browser_modules.check_integrity("a 1.0", data, f"sha512-{digest}")
    with pytest.raises(
        browser_modules.BuildError, match="a 1.0 is not what package-lock.json says"
    ):
        browser_modules.check_integrity("a 1.0", data + b" ", f"sha512-{digest}")
    with pytest.raises(browser_modules.BuildError, match="no hash"):
        browser_modules.check_integrity("a 1.0", data, "sha1-x")


def test_modules_of_another_lock_are_fetched_anew(tmp_path: Path) -> None:
    entries = {"node_modules/a": {"integrity": "sha512-x"}}
    (tmp_path / "node_modules").mkdir()
    listed = tmp_path / "node_modules" / ".package-lock.json"
    listed.write_text(json.dumps({"packages": entries}))
    assert browser_modules._is_installed(tmp_path, entries)
    assert not browser_modules._is_installed(
        tmp_path, {"node_modules/a": {"integrity": "sha512-y"}}
    )


def test_the_address_of_the_registry_is_npms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://npm.example/")
    assert browser_modules.registry_address(tmp_path) == "https://npm.example"
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    (tmp_path / ".npmrc").write_text("fund=false\nregistry = https://mirror.example/npm/\n")
    assert browser_modules.registry_address(tmp_path) == "https://mirror.example/npm"


def test_the_wheel_has_the_page_that_exports_fill(installed: Path) -> None:
    app = installed / "kscope" / "_app"
    page = (app / "kscope" / "exports" / "page" / "built.html").read_text()
    assert "default-src 'none'" in page
    assert page.count("<!--kscope:data-->") == page.count("<!--kscope:title-->") == 1
    assert [*(app / "node_modules").glob("*esbuild*")] == []
