"""The Kubernetes API asks runs by their functions: it has no statement and no model of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import kube

FORBIDDEN = ("django.db", "django.contrib", "kscope.runs.models")
# What asks a database: of a connection, or of a model.
ASKS = ("execute", "executemany", "objects")


def _breaches(source: str) -> Iterator[str]:
    for found in ast.walk(ast.parse(source)):
        match found:
            case ast.Import(names=names):
                modules = [one.name for one in names]
            case ast.ImportFrom(module=str(module), names=names):
                modules = [module, *(f"{module}.{one.name}" for one in names)]
            case ast.Call(func=ast.Attribute(attr="execute" | "executemany" as name)):
                modules = [name]
            case ast.Attribute(value=ast.Attribute(value=ast.Name(), attr="objects")):
                modules = ["objects"] if _is_manager(found) else []
            case _:
                continue
        for module in modules:
            if module in ASKS or module.startswith(FORBIDDEN):
                yield module


def _is_manager(found: ast.Attribute) -> bool:
    """Whether it is `Model.objects.filter` or the like; a model has a capital."""
    holder = found.value
    return (
        isinstance(holder, ast.Attribute)
        and isinstance(holder.value, ast.Name)
        and holder.value.id[:1].isupper()
    )


def test_the_api_has_no_statement_of_its_own() -> None:
    room = Path(kube.__file__).parent
    # Clusters for tests stand in the place of a worker: they drive runs themselves.
    files = [one for one in sorted(room.rglob("*.py")) if one.parent != room / "clusters"]
    assert len(files) > 60
    assert [(one.name, each) for one in files for each in _breaches(one.read_text())] == []


def test_a_statement_in_the_api_is_found() -> None:
    source = "from django import db\nimport kscope.runs.models\nRun.objects.get(pk=1)\n"
    assert {*_breaches(source + "link.execute('SELECT 1')\n")} == {
        "django.db",
        "kscope.runs.models",
        "objects",
        "execute",
    }
