"""What the wheel holds: `kscope/__init__.py`, and below `kscope/_app` what a checkout runs from."""

from __future__ import annotations

import shutil
from pathlib import Path

from browser_modules import BuildError, put_browser_modules, put_page
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

ROOM = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "kscope", "scheduling", "volumes", "kube")
FOLDERS = (*PACKAGES, "templates", "static", "scenarios")
FILES = ("manage.py", "LICENSE", "requirements/runtime.txt", "requirements/live.txt")
# Made by Python, and by who runs kscope in a checkout.
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


class BuildTree(build_py):
    """Writes the tree; setuptools makes a wheel of it."""

    def run(self) -> None:
        """Write it anew, so that nothing of an earlier build is left in it."""
        target = Path(self.build_lib, "kscope")
        shutil.rmtree(target, ignore_errors=True)
        try:
            put_tree(target)
        except BuildError as error:
            raise SetupError(str(error)) from error

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The files that were written."""
        return [str(path) for path in Path(self.build_lib).rglob("*") if path.is_file()]

    def get_source_files(self) -> list[str]:
        """Files for a source distribution: MANIFEST.in names them."""
        return []


def put_tree(target: Path) -> None:
    """Write everything into *target*."""
    app = target / "_app"
    app.mkdir(parents=True)
    shutil.copyfile(ROOM / "distribution" / "installed.py", target / "__init__.py")
    shutil.copyfile(ROOM / "distribution" / "cluster_fixture.py", target / "cluster_fixture.py")
    for name in FOLDERS:
        shutil.copytree(ROOM / name, app / name, ignore=_LEFT_OUT)
    for name in FILES:
        (app / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOM / name, app / name)
    # Pages show the words and tables of some documents.
    (app / "docs").mkdir()
    for document in sorted((ROOM / "docs").glob("*.md")):
        shutil.copyfile(document, app / "docs" / document.name)
    put_browser_modules(ROOM, app)
    put_page(ROOM, app)
