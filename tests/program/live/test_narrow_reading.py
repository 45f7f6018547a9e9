"""What `why` reads of a cluster gives the answer that everything gives: held on real incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.standing import standing
from engine.diagnosis.why import KIND_OF
from engine.input.loader import load_files, load_paths
from engine.objects.kinds import resource_of_kind
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.program.live.connection import Connection, Refusal, Traffic
from kscope.program.live.files import collection_of, files_of
from kscope.program.live.kinds import KINDS
from kscope.program.live.plans import Wish, plan_of, whole_plan
from kscope.program.live.reader import Reader
from kscope.program.live.reading import Cluster, Picture
from tests.conformance.diagnosis.test_incidents import incidents

Manifest = dict[str, Any]
_NOON = "2026-11-28T12:00:00Z"


class FileConnection:
    """A cluster of some manifests, which answers as an API server does."""

    def __init__(self, manifests: list[Manifest], version: str) -> None:
        self.context = SimpleNamespace(name="prod", user="dev", namespace="", server="")
        self.traffic, self.timeout_seconds = Traffic(), 10.0
        self.paths: list[str] = []
        self._version = version
        self._by_resource: dict[tuple[str, str], list[Manifest]] = {}
        for each in manifests:
            version = str(each["apiVersion"])
            group = version.rpartition("/")[0]
            plural = resource_of_kind(each["kind"], version).partition(".")[0]
            self._by_resource.setdefault((group, plural), []).append(each)

    def close(self) -> None:
        """Nothing is open."""

    def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str) -> bytes:
        """The list, or the object, at *path*."""
        self.paths.append(path)
        if path == "/version":
            return orjson.dumps({"gitVersion": self._version})
        if path in ("/api", "/apis"):
            return orjson.dumps({"kind": "APIVersions"})
        head, _, rest = path.removeprefix("/api/").removeprefix("/apis/").partition("/")
        group = "" if path.startswith("/api/") else head
        parts = (rest if not group else rest.partition("/")[2]).split("/")
        namespace = parts.pop(1) if parts[0] == "namespaces" and len(parts) > 2 else ""
        parts = parts[1:] if namespace else parts
        found = self._by_resource.get((group, parts[0]), [])
        found = [each for each in found if not namespace or _namespace(each) == namespace]
        if len(parts) > 1:
            one = next((each for each in found if each["metadata"]["name"] == parts[1]), None)
            if one is None:
                raise Refusal(404, b"")
            return orjson.dumps(one)
        return orjson.dumps({"kind": "List", "metadata": {}, "items": found})


def _namespace(manifest: Manifest) -> str:
    return str(manifest["metadata"].get("namespace") or "")


def _answer(cluster: Cluster, plan: list[Wish], at: str, kind: str, key: str) -> Answer:
    picture: Picture = cluster.picture(plan, lambda *_: None)
    picture = replace(picture, read_at=at)
    loaded = load_files(files_of(collection_of(cluster, picture), picture), check=check_setup)
    stands = standing(loaded, None, at=at)
    answer = explain_as_it_stands(stands.cluster, stands.evidence, kind, key)
    assert answer is not None
    return answer


def _told(answer: Answer) -> dict[str, object]:
    return {
        "sentence": answer.sentence,
        "causes": [each.sentence for each in answer.causes],
        "changes": [each.text for each in answer.fixes],
        "observed": list(answer.observed),
        "predicted": answer.predicted,
        "contradicts": answer.contradicts,
    }


@pytest.mark.parametrize("incident", incidents())
def test_the_narrow_reading_answers_as_the_whole(incident: dict[str, Any]) -> None:
    word, _, key = incident["subject"].partition(" ")
    kind, path = KIND_OF[word], Path(incident["folder"]) / incident["file"]
    loaded = load_paths([path])
    manifests = [each for each in loaded.everything if not _is_assumed(each)]
    connection = FileConnection(manifests, f"{incident['profile']}.0")
    cluster = Cluster(Reader(cast("Connection", connection), "default"))
    asked = next(
        each
        for each in manifests
        if (each["kind"], f"{_namespace(each)}/{each['metadata']['name']}".lstrip("/"))
        == (kind, key)
    )
    own = next(each for each in KINDS if each.kind == kind)
    at = loaded.newest or _NOON
    whole = _answer(cluster, whole_plan(), at, kind, key)
    connection.paths.clear()
    narrow = _answer(cluster, plan_of(asked, own), at, kind, key)
    assert len(connection.paths) <= len(KINDS) + 4
    assert _told(narrow) == _told(whole)


def _is_assumed(manifest: Manifest) -> bool:
    return "kscope.dev/placeholder" in (manifest["metadata"].get("annotations") or {})
