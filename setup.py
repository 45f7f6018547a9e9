"""Builds the wheel, and installs a checkout in place: `pip install .`, `pip install --editable .`.

What stands still is in pyproject.toml. `distribution/tree.py` says what the wheel holds.
"""

import sys
from pathlib import Path

from setuptools import find_packages, setup

ROOM = Path(__file__).resolve().parent

if {"editable_wheel", "develop"} & set(sys.argv):
    # A checkout where the tests of another project find it.
    setup(packages=find_packages(include=["engine*", "kscope*", "scheduling*", "volumes*", "kube*"]))
else:
    sys.path[:0] = [str(ROOM), str(ROOM / "distribution")]
    from tree import BuildTree

    setup(packages=["kscope"], cmdclass={"build_py": BuildTree})
