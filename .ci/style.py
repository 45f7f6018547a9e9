#!/usr/bin/env python3
"""Checks what STYLE.md says of numbers, floors, names in a folder, and templates.

* A class has at most 300 lines of code: blank lines and docstrings are not counted.
* A function takes at most six parameters that a caller has to give.
* A folder has at most 15 modules; `__init__.py` does not count.
* A package with several rooms, which are packages in it, has a contract of import-linter for its
  floors, and one that is exhaustive.
* No two names in a folder differ only in a final s: a reader takes one for the other.
* A `<dd>` of a template decides nothing: a view does, and gives the template what to print.

`[tool.style]` of pyproject.toml lists what is still larger, with its number, which may only shrink.
Production code is in none of these lists but `floors-to-come`.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "kscope", "scheduling", "volumes", "kube")
OTHERS = ("tests", "bench", ".ci")
CLASS_LINES = 300
PARAMETERS = 6
MODULES = 15
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print each offender; 1 if there is one."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    style, paths = tools["style"], list(modules(ROOT))
    sizes: dict[str, int] = {}
    found: list[str] = []
    for path in paths:
        name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())
        found += [f"{name}:{line}" for line in crowded_functions(tree)]
        sizes |= {
            f"{name}:{known}": lines for known, lines in class_lines(path.read_text()).items()
        }
    found += too_many(sizes, CLASS_LINES, "lines of code", style["large-classes"])
    found += too_many(folders(paths), MODULES, "modules", style["wide-folders"])
    found += without_floors(paths, tools["importlinter"]["contracts"], style["floors-to-come"])
    found += alike(paths)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        found += [f"{path.relative_to(ROOT)}:{one}" for one in deciding(path.read_text())]
    print("\n".join(found) or "STYLE's numbers hold.")
    return 1 if found else 0


def modules(root: Path) -> Iterator[Path]:
    """Every module that is checked."""
    for package in (*PACKAGES, *OTHERS):
        for path in sorted((root / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def class_lines(source: str) -> dict[str, int]:
    """The lines of code of each class in *source*."""
    tree, lines = ast.parse(source), source.splitlines()
    docstrings = {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return {
        node.name: sum(
            bool(lines[number - 1].strip()) and number not in docstrings
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def crowded_functions(tree: ast.AST) -> Iterator[str]:
    """The functions that ask for too many parameters."""
    for node in ast.walk(tree):
        # What a test asks for are fixtures and examples, which no caller gives.
        if isinstance(node, Function) and not node.name.startswith("test_"):
            count = required_parameters(node)
            if count > PARAMETERS:
                yield f"{node.lineno}: {node.name} asks for {count} parameters, at most {PARAMETERS}"


def required_parameters(node: Function) -> int:
    """How many parameters have no default, without self and cls."""
    positional = [*node.args.posonlyargs, *node.args.args]
    given = positional[: len(positional) - len(node.args.defaults)]
    by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    given += [one for one, default in by_name if default is None]
    return sum(one.arg not in ("self", "cls") for one in given)


def folders(paths: Iterable[Path]) -> Mapping[str, int]:
    """The number of modules of each folder."""
    return Counter(
        path.parent.relative_to(ROOT).as_posix() for path in paths if path.name != "__init__.py"
    )


def too_many(
    counts: Mapping[str, int], most: int, what: str, allowed: Mapping[str, int]
) -> Iterator[str]:
    """What has more than *most*, or than is *allowed* it, and what is allowed without need."""
    for name, count in counts.items():
        limit = allowed.get(name, most)
        if count > limit:
            yield f"{name}: {count} {what}, at most {limit}"
    for name, limit in allowed.items():
        if name.split("/")[0] not in OTHERS:
            yield f"pyproject.toml: {name} is production code, which no list may allow more"
        if counts.get(name, 0) < limit:
            yield f"pyproject.toml: {name} may have {limit} {what} and has {counts.get(name, 0)}"


def without_floors(
    paths: Iterable[Path], contracts: Iterable[Mapping[str, Any]], to_come: list[str]
) -> Iterator[str]:
    """The packages with several rooms that have no exhaustive contract, and needless exceptions."""
    have = {
        container
        for contract in contracts
        if contract.get("exhaustive")
        for container in contract["containers"]
    }
    packages = {
        path.parent.relative_to(ROOT)
        for path in paths
        if path.name == "__init__.py" and path.relative_to(ROOT).parts[0] in PACKAGES
    }
    rooms = Counter(".".join(package.parent.parts) for package in packages)
    for name, count in sorted(rooms.items()):
        if name and count > 1 and name not in have and name not in to_come:
            yield f"{name}: {count} rooms and no exhaustive contract for their floors"
    for name in to_come:
        if name in have or rooms[name] < 2:
            yield f"pyproject.toml: floors-to-come lists {name} without need"


def alike(paths: Iterable[Path]) -> Iterator[str]:
    """The modules and rooms whose names are the singular and the plural of one word."""
    names = {
        part
        for path in paths
        for part in (path.relative_to(ROOT).with_suffix(""), path.parent.relative_to(ROOT))
    }
    for name in sorted(names):
        if name.with_name(f"{name.name}s") in names and name.name:
            yield f"{name} and {name.name}s are hard to tell apart"


def deciding(template: str) -> Iterator[str]:
    """The definitions of a template that hold a decision, each with its line."""
    for definition in re.finditer(r"<dd\b.*?</dd>", template, re.DOTALL):
        tag = re.search(r"{%\s*(if|with)\b", definition.group())
        if tag:
            line = template.count("\n", 0, definition.start()) + 1
            yield f"{line}: a <dd> holds {{% {tag.group(1)} %}}; decide in the view"


if __name__ == "__main__":
    sys.exit(main())
