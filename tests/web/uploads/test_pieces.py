"""Scenarios are kept in pieces: what is read again is what was stored, with the digest of the whole."""

import hashlib
import zlib
from importlib import import_module
from typing import Any

import orjson
import pytest
from django.db import connection

from engine.input.generate import synthetic
from engine.input.loader import load_files
from kscope.runs import contents, services
from kscope.runs.contents import Digest, document_of, items_of, packed, sharing
from kscope.runs.models import KeptEvidence, Scenario, ScenarioPiece
from tests.web.conftest import CLUSTER, kept_scenario

pytestmark = pytest.mark.django_db(transaction=True)

STEP = {"at": 5, "verb": "cordon", "object": "node/ä\n"}
DOCUMENT: dict[str, Any] = {
    "name": "n",
    "instant": "2026-11-20T12:00:00Z",
    "objects": [{"kind": "Pod", "b": 1.5, "a": "line\nbreak"}, {"kind": "Node", "n": 1e22}],
    "steps": [],
    "outside": [{"kind": "Lease"}],
}


def encoded(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize("without", [(), ("instant",), ("name", "instant")])
def test_the_digest_is_of_the_whole(without: tuple[str, ...]) -> None:
    digest = Digest(without)
    packed(DOCUMENT, digest)
    packed({}, digest)
    packed({"newest_write": "", "objects_aside": [STEP]}, digest)
    left = {name: part for name, part in DOCUMENT.items() if name not in without}
    text = encoded(left) + b"{}" + encoded({"newest_write": "", "objects_aside": [STEP]})
    assert (digest.hex, digest.bytes) == (hashlib.sha256(text).hexdigest(), len(text))


def test_a_document_is_read_as_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_ITEMS", 7)
    loaded = synthetic(nodes=10, pods=40, seed=1)
    scenario = kept_scenario(loaded)
    counts = [*scenario.pieces.filter(part="objects").values_list("count", flat=True)]
    assert set(counts[:-1]) == {7}
    assert sum(counts) == len(loaded.objects)
    scenario.refresh_from_db()
    assert encoded(document_of(scenario)) == encoded(loaded.to_dict())


def test_large_items_have_pieces_of_their_own() -> None:
    big = {"kind": "ConfigMap", "text": "x" * 2_000_000}
    pieces = packed({"objects": [big, {"kind": "Pod"}, big, big]}).pieces
    assert [each.count for each in pieces] == [1, 2, 1]


def test_the_same_content_is_kept_once(scenario: Scenario) -> None:
    pieces = ScenarioPiece.objects.count()
    again = services.scenario_store(
        name="small", result=load_files([("small.yaml", CLUSTER.encode())])
    )
    assert again.pk == scenario.pk
    assert ScenarioPiece.objects.count() == pieces
    services.scenario_delete(scenario=scenario)
    assert not ScenarioPiece.objects.exists()


def test_documents_of_the_old_form_become_pieces(scenario: Scenario) -> None:
    migration = import_module("kscope.runs.migrations.0028_pieces")
    wanted, aside = document_of(scenario), [{"kind": "Secret", "metadata": {"name": "s"}}]
    ScenarioPiece.objects.all().delete()
    KeptEvidence.objects.create(scenario=scenario)
    Scenario.objects.update(header={**wanted, "outside": aside})
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_keptevidence ADD objects_aside jsonb")
        try:
            text = orjson.dumps(aside).decode()
            cursor.execute("UPDATE runs_keptevidence SET objects_aside = %s", [text])
            with connection.schema_editor() as editor:
                migration.split(None, editor)
        finally:
            cursor.execute("ALTER TABLE runs_keptevidence DROP objects_aside")
    scenario.refresh_from_db()
    assert document_of(scenario) == {**wanted, "outside": aside}
    assert [*items_of(scenario.pk, "objects_aside")] == aside
    assert {"objects", "steps", "outside"}.isdisjoint(scenario.header)
    lines = ScenarioPiece.objects.get(scenario=scenario, part="outside").lines
    assert zlib.decompress(lines).startswith(b'{"kind"')


def test_neighbouring_pods_share_what_is_equal() -> None:
    def made() -> list[Any]:
        return [
            {"apiVersion": "v1", "kind": kind, "metadata": {"labels": labels}, "spec": spec}
            for kind, labels, spec in (
                ("Pod", {"app": "a"}, {"containers": [{"name": "c"}], "priority": 7}),
                ("Node", {"app": "a"}, {"taints": []}),
                ("Pod", {"app": "b"}, {"containers": [{"name": "c"}], "nodeName": "n"}),
                ("Pod", {"app": "b"}, None),
                ("Pod", None, {"containers": [{"name": "d"}]}),
                ("Pod", None, {"overhead": {"cpu": 1}}),
                ("Pod", None, {"overhead": {"cpu": 1.0}}),
            )
        ]

    first, node, second, third, *_, last = shared = list(sharing(made()))
    assert orjson.dumps(shared) == orjson.dumps(made())
    assert second["spec"]["containers"] is first["spec"]["containers"]
    assert second["metadata"] is not first["metadata"]
    assert node["metadata"]["labels"] is not first["metadata"]["labels"]
    assert isinstance(last["spec"]["overhead"]["cpu"], float)
    assert third["spec"] is None
