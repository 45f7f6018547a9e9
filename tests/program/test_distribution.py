"""What comes with the program: the manual page, the plugin of kubectl, and the extras."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kscope.program.grammar import COMMANDS
from kscope.program.kubectl_plugin import with_context
from tests.program.asked import DATA, ROOT, Program

sys.path.append(str(ROOT / "distribution"))
import krew_plugin

CONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [],
    "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "dev"}}],
    "current-context": "prod",
}


def test_the_manual_page_has_every_command(kscope: Program) -> None:
    page = kscope("man").out
    assert re.findall(r"^\.SH KSCOPE (\w+)$", page, re.MULTILINE) == [
        each.upper() for each in COMMANDS
    ]
    assert page.isascii()
    assert "\n.TH" not in page[1:]


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_the_manual_page_is_set_without_a_warning(kscope: Program) -> None:
    page = kscope("man").out
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww"],
        input=page,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "GROFF_NO_SGR": "1", "LC_ALL": "C.UTF-8"},
    )
    assert done.stderr == ""
    assert "kscope why --context prod pod/web-3" in done.stdout
    assert "`kubectl get … -o yaml`" in done.stdout


@pytest.fixture
def current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kubeconfig whose current context is prod."""
    (tmp_path / "config").write_text(yaml.safe_dump(CONFIG))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(DATA)


@pytest.mark.parametrize(
    ("words", "is_current"),
    [
        (["why", "pod/web-3", "-n", "shop"], True),
        (["triage"], True),
        (["-n", "shop", "triage", "-o", "json"], True),
        (["collect", "prod.tar.gz"], True),
        (["triage", "prod-eu.yaml"], False),
        (["triage", "-"], False),
        (["triage", "--context=dev"], False),
        (["why", "-f", "prod-eu.yaml", "pod/web-3"], False),
        (["rbac"], False),
        (["why", "--help"], False),
        ([], False),
    ],
)
@pytest.mark.usefixtures("current")
def test_the_plugin_asks_about_the_current_context(words: list[str], is_current: bool) -> None:
    added = ["--context", "prod"] if is_current else []
    assert with_context(words) == [*words, *added]


def test_the_manifest_names_the_archives_hash(tmp_path: Path) -> None:
    krew_plugin.main("https://example.com/kubectl-kscope.tar.gz", tmp_path)
    found = yaml.safe_load((tmp_path / "kscope.yaml").read_text())
    packed = (tmp_path / krew_plugin.ARCHIVE).read_bytes()
    assert packed == krew_plugin.archive()
    for platform in found["spec"]["platforms"]:
        assert platform["sha256"] == hashlib.sha256(packed).hexdigest()
        assert platform["bin"] == "kubectl-kscope"
    # Upstream: krew, internal/index/validation.
    assert re.fullmatch(r"v\d+\.\d+\.\d+", found["spec"]["version"])
    assert len(found["spec"]["shortDescription"]) < 50


def test_the_plugin_calls_the_kscope_beside_it(tmp_path: Path) -> None:
    krew_plugin.main("https://example.com/kubectl-kscope.tar.gz", tmp_path)
    # The command, because Python's own way warns unless it is given what Debian 12 does not know.
    (tmp_path / "krew").mkdir()
    words = ["tar", "-xzf", tmp_path / krew_plugin.ARCHIVE, "-C", tmp_path / "krew"]
    subprocess.run(words, check=True)
    script = tmp_path / "krew" / "kubectl-kscope"
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'krew'}:/usr/bin:/bin"}
    absent = subprocess.run([script, "triage"], env=environment, capture_output=True, check=False)
    assert (absent.returncode, b"pipx install" in absent.stderr) == (2, True)
    folder = tmp_path / "a folder"
    folder.mkdir()
    for name in ("kscope", "kubectl-kscope"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (folder / name).chmod(0o755)
    environment["PATH"] += f":{folder}"
    there = subprocess.run(
        [script, "why", "pod/a b"], env=environment, capture_output=True, check=True
    )
    assert there.stdout == b"kubectl-kscope why pod/a b\n"


def test_extras_are_pinned_and_hashed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["tool"]["setuptools"]["dynamic"]["optional-dependencies"]
    for name, source in extras.items():
        (file,) = source["file"]
        assert file == f"requirements/{name}.in"
        lines = (ROOT / file).read_text().splitlines()
        wanted = [line for line in lines if line and not line.startswith("#")]
        lock = (ROOT / "requirements" / f"{name}.txt").read_text()
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", each) for each in wanted)
        assert all(f"\n{each} \\\n    --hash=sha256:" in f"\n{lock}" for each in wanted)
        beside = (ROOT / "requirements" / "dev.txt").read_text()
        assert all(f"\n{each} \\\n" in f"\n{beside}" for each in wanted)


def test_the_client_is_imported_when_it_is_used() -> None:
    code = (
        "import sys; from kscope.program.main import main; main(['triage', 'healthy.yaml', '-q']);"
        "print('kubernetes' in sys.modules, 'django' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=DATA,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False False"


def test_without_the_client_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(yaml.safe_dump(CONFIG))
    code = (
        "import sys; sys.modules['kubernetes'] = None; from kscope.program.main import main;"
        "sys.exit(main(['triage', '--context', 'prod']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), "KUBECONFIG": str(tmp_path / "config")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'kscope-sim[live]'" in done.stderr
