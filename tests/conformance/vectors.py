"""Reads the reference vectors: what the real Kubernetes components did on given inputs.

tests/vectors says where they are found. Where they are absent the conformance tests are skipped and
say so.
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import pytest

from engine.objects.objects import ApiObject, from_manifest
from tests.vectors import vector_set, why_absent

Json = dict[str, Any]
Obj = TypeVar("Obj", bound=ApiObject)


@cache
def load(folder: str, name: str) -> Any:
    """The parsed vector file, or None where it is absent."""
    path = vector_set(folder) / name
    return json.loads(path.read_text()) if path.exists() else None


def upstream(name: str) -> Any:
    """A file of the table tests of Kubernetes 1.20, or None where it is absent."""
    return load("kubernetes-1.20", name)


def parametrised(
    cases: Iterable[tuple[str, Any]] | None, *, absent: str = "kubernetes-1.20"
) -> list[Any]:
    """pytest parameters of (name, case) pairs, ids made unique.

    None stands for vectors that are *absent*: then there is one parameter, which is skipped.
    """
    if cases is None:
        skip = pytest.mark.skip(reason=why_absent(absent))
        return [pytest.param(None, marks=skip, id="no-vectors")]
    seen: dict[str, int] = {}
    params: list[Any] = []
    for name, case in cases:
        count = seen[name] = seen.get(name, 0) + 1
        params.append(pytest.param(case, id=name if count == 1 else f"{name}#{count}"))
    return params


def obj(kind: type[Obj], manifest: Json) -> Obj:
    """The object of a vector's manifest, in which kind and name may be missing."""
    metadata = {"name": "", **(manifest.get("metadata") or {})}
    made = from_manifest(
        {**manifest, "kind": manifest.get("kind") or kind.KIND, "metadata": metadata}
    )
    assert isinstance(made, kind)
    return made


def without_versions(manifest: Json) -> Json:
    """As upstream compares: without resourceVersion, spec.claimRef.resourceVersion and empties."""
    metadata = {k: v for k, v in manifest["metadata"].items() if k != "resourceVersion"}
    trimmed = {**manifest, "metadata": metadata}
    ref = (manifest.get("spec") or {}).get("claimRef")
    if ref:
        ref = {k: v for k, v in ref.items() if k != "resourceVersion"}
        trimmed["spec"] = {**manifest["spec"], "claimRef": ref}
    return pruned(trimmed)


def pruned(value: Any) -> Any:
    """*value* without nulls, empty maps and empty lists, which the vectors leave out."""
    if isinstance(value, dict):
        inner = {key: pruned(item) for key, item in value.items() if key != "apiVersion"}
        if "kind" in inner and "metadata" in inner:
            del inner["kind"]
        return {key: item for key, item in inner.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [pruned(item) for item in value]
    return value
