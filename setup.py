"""Builds the wheel, and installs a checkout in place: `pip install .`, `pip install --editable .`.

What stands still is in pyproject.toml. `distribution/tree.py` says what the wheel holds.
"""

import sys
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup

ROOM = Path(__file__).resolve().parent
SCRIPTS = [
    "kscope = kscope.program.main:main",
    # kubectl finds its plugins by their names.
    "kubectl-kscope = kscope.program.kubectl_plugin:main",
]


def entry_points(fixture: str) -> dict[str, list[str]]:
    """The program, and the fixture kscope_cluster (docs/kubernetes-api.md).

    The latter is named like the module that `-p` names, so that pytest loads it once.
    """
    return {"console_scripts": SCRIPTS, "pytest11": [f"kube.clusters.plugin = {fixture}"]}


def arguments() -> dict[str, Any]:
    """A checkout is used where it is; a wheel has one name, below which everything is."""
    if {"editable_wheel", "develop"} & set(sys.argv):
        packages = find_packages(include=["engine*", "kscope*", "scheduling*", "volumes*", "kube*"])
        return {"packages": packages, "entry_points": entry_points("kube.clusters.plugin")}
    sys.path[:0] = [str(ROOM), str(ROOM / "distribution")]
    from tree import BuildTree

    return {
        "packages": ["kscope"],
        "cmdclass": {"build_py": BuildTree},
        "entry_points": entry_points("kscope.cluster_fixture"),
    }


setup(**arguments())
