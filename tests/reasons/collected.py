"""The reasons that the engines' code names: constants of plugins, reasons of Warning Events."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_EVENTS: Final = (
    "engine/controllers",
    "engine/csi_sidecars",
    "engine/kubelet",
    "engine/storage",
)


def plugin_reasons() -> set[str]:
    """The texts of the constants REASON_… of all plugins."""
    return {
        value
        for path, module in _modules("engine/plugins")
        for name, value in vars(module).items()
        if name.startswith("REASON_") and isinstance(value, str) and path
    }


def event_reasons() -> set[str]:
    """The reasons that follow the type Warning in a call."""
    return {
        reason
        for folder in _EVENTS
        for path, module in _modules(folder)
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        for reason in _after_warning(call, module)
    }


def _modules(folder: str) -> Iterator[tuple[Path, ModuleType]]:
    for path in sorted((_ROOT / folder).rglob("*.py")):
        name = ".".join(path.relative_to(_ROOT).with_suffix("").parts)
        yield path, import_module(name.removesuffix(".__init__"))


def _after_warning(call: ast.Call, module: ModuleType) -> Iterator[str]:
    for given, following in zip(call.args, call.args[1:], strict=False):
        is_name = isinstance(given, ast.Name) and given.id == "WARNING"
        is_text = isinstance(given, ast.Constant) and given.value == "Warning"
        if not is_name and not is_text:
            continue
        if isinstance(following, ast.Constant):
            yield str(following.value)
        elif isinstance(following, ast.Name) and hasattr(module, following.id):
            yield str(getattr(module, following.id))
