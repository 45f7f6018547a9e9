"""`.ci/style.py` counts what STYLE.md limits."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def style() -> ModuleType:
    spec = importlib.util.spec_from_file_location("style", ROOT / ".ci" / "style.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_docstrings_and_blank_lines_are_no_code(style: ModuleType) -> None:
    source = 'class A:\n    """One.\n\n    Two.\n    """\n\n    x = 1\n'
    assert style.class_lines(source) == {"A": 2}


def test_parameters_with_defaults_are_not_asked_for(style: ModuleType) -> None:
    crowded = "def f(self, a, b, c, d, *, e, g, h): ..."
    assert [*style.crowded_functions(ast.parse(crowded))] == [
        "1: f asks for 7 parameters, at most 6"
    ]
    assert not [*style.crowded_functions(ast.parse("def f(a, b, c, d, e, f, g=1, *, h=2): ..."))]


def test_an_exception_may_only_shrink(style: ModuleType) -> None:
    limits = {"tests/a": 17, "tests/b": 20}
    counts = {"tests/a": 18, "tests/b": 19, "kube": 16}
    assert [*style.too_many(counts, 15, "modules", limits)] == [
        "tests/a: 18 modules, at most 17",
        "kube: 16 modules, at most 15",
        "pyproject.toml: tests/b may have 20 modules and has 19",
    ]


def test_production_code_has_no_exceptions(style: ModuleType) -> None:
    (problem,) = style.too_many({"kube": 16}, 15, "modules", {"kube": 16})
    assert problem == "pyproject.toml: kube is production code, which no list may allow more"


def test_rooms_without_a_contract_are_found(style: ModuleType) -> None:
    paths = [ROOT / "kube" / room / "__init__.py" for room in (".", "a", "b")]
    contract = {"exhaustive": True, "containers": ["kube"]}
    (problem,) = style.without_floors(paths, [], [])
    assert problem == "kube: 2 rooms and no exhaustive contract for their floors"
    assert not [*style.without_floors(paths, [contract], [])]


def test_singular_beside_plural_is_found(style: ModuleType) -> None:
    paths = [ROOT / "kube" / name for name in ("table.py", "tables/__init__.py", "rows.py")]
    assert [*style.alike(paths)] == ["kube/table and tables are hard to tell apart"]
    assert not [*style.alike(paths[1:])]


def test_definition_that_decides_is_found(style: ModuleType) -> None:
    template = "<dl>\n<dt>Owner</dt>\n<dd>\n{% if owner %}{{ owner }}{% endif %}</dd>\n</dl>"
    assert [*style.deciding(template)] == ["3: a <dd> holds {% if %}; decide in the view"]
    assert not [*style.deciding("{% if owner %}<dd>{{ owner }}</dd>{% endif %}")]
