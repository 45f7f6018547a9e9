"""The script that lists what no run uses."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

_SCRIPT = Path(__file__).parents[2] / ".ci" / "unused.py"

_ENGINE = """
from typing import Protocol

class Used:
    def called(self): return self._helper()
    def _helper(self): return 1
    def shown(self): return 2
    def looked_up(self): return 3
    def forgotten(self): return 4

class Unused:
    def called(self): return forgotten_helper()

def forgotten_helper(): return 5
def recursive(): return recursive()
def re_exported(): return 6
"""
_MIDDLE = "from app.engine import re_exported, Used\n"
_MAIN = """
from app.middle import Used, re_exported
import app.engine

def main(names):
    used = Used()
    return used.called(), used.shown, getattr(used, "looked_up"), re_exported()

if __name__ == "__main__":
    main([])
"""


@pytest.fixture(name="script")
def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("unused", _SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_what_nothing_reaches_is_listed(script: ModuleType, tmp_path: Path) -> None:
    modules = {}
    for name, text in {"engine": _ENGINE, "middle": _MIDDLE, "main": _MAIN}.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        modules[f"app.{name}"] = script.Module(f"app.{name}", path)
    search = script.Search(modules)
    search.run()
    assert script.unused(modules) == [
        "app.engine:Used.forgotten",
        "app.engine:Unused",
        "app.engine:forgotten_helper",
        "app.engine:recursive",
    ]
    search.reach_too(modules, ["app.engine:Unused", "app.engine:Used.forgotten"])
    assert script.unused(modules) == ["app.engine:recursive"]
