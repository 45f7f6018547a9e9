"""Recorded commands of kubectl 1.20, 1.32 and 1.36 are answered as they were, without a kubectl."""

import http.client
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import yaml

from kube.clusters import Cluster
from tests.kube.transcripts.exchanges import WATCH, Exchange, transcripts_kept
from tests.kube.transcripts.shapes import names_in, shape_of
from tests.waiting import HANG_SECONDS

SCENARIO = Path(__file__).parents[2] / "kubectl/scenario.yaml"
_NUMBER = re.compile(r"\d+")
_SCHEMAS = "/openapi/v3"
_HASH = re.compile(rb"(/openapi/v3/[^?\"]+)\?hash=(\w+)")


class Repeated:
    """A cluster to which recorded requests are sent again, at their virtual times.

    Names that a server chooses, uids, versions and hashes of schemas are those of this cluster: they
    are learnt from its answers.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        config = yaml.safe_load(Path(cluster.kubeconfig).read_text())
        address = urlsplit(config["clusters"][0]["cluster"]["server"])
        self._host, self._root = address.netloc, address.path
        self._at = 0.0
        self._versions: dict[str, str] = {}
        self._names: dict[str, str] = {}
        # Of the documents of schemas, by path.
        self._hashes: dict[str, str] = {}

    def send(self, one: Exchange) -> tuple[int, str, bytes]:
        """Status, content type and content of the answer; of a watch only what comes at once."""
        if one.at > self._at:
            self._cluster.advance(one.at - self._at)
            self._at = one.at
        link = http.client.HTTPConnection(self._host, timeout=HANG_SECONDS)
        try:
            content = one.content
            if not one.body.startswith("base64:"):
                content = self._translated(content.decode()).encode()
            link.request(one.method, self._root + self._path(one), content, one.headers)
            answer = link.getresponse()
            content_type = answer.headers.get("Content-Type") or ""
            if WATCH.search(one.path) and answer.status == 200:
                begins = "sendInitialEvents=true" in one.path
                return 200, content_type, answer.fp.readline() if begins else b""
            told = answer.read()
        finally:
            link.close()
        if one.path.partition("?")[0] == _SCHEMAS:
            self._hashes |= {path.decode(): found.decode() for path, found in _HASH.findall(told)}
        names = names_in(told, content_type)
        if len(names) == len(one.names):
            self._learn(one.names, names)
        return answer.status, content_type, told

    def _learn(self, recorded: list[str], found: list[str]) -> None:
        for old, new in zip(recorded, found, strict=True):
            if old != new and old and new:
                known = self._versions if _NUMBER.fullmatch(old) else self._names
                known[old] = new

    def _path(self, one: Exchange) -> str:
        path = self._translated(one.path)

        def newest(found: re.Match[str]) -> str:
            return f"resourceVersion={self._versions.get(found[1], found[1])}"

        document, _, query = path.partition("?")
        if document in self._hashes:
            query = re.sub(r"hash=\w+", f"hash={self._hashes[document]}", query)
            path = f"{document}?{query}"
        return re.sub(r"resourceVersion=(\d+)", newest, path)

    def _translated(self, text: str) -> str:
        for old, new in self._names.items():
            text = text.replace(old, new).replace(quote(old), quote(new))

        def newest(found: re.Match[str]) -> str:
            return f'{found[1]}"{self._versions.get(found[2], found[2])}"'

        return re.sub(r'("resourceVersion":\s*)"(\d+)"', newest, text)


@pytest.mark.parametrize(("version", "story"), transcripts_kept())
def test_recorded_requests_are_answered_as_they_were(
    version: str, story: str, kscope_cluster: Callable[..., Cluster]
) -> None:
    repeated = Repeated(kscope_cluster(SCENARIO, seed=1))
    wrong: list[str] = []
    for one in transcripts_kept()[version, story]:
        status, content_type, told = repeated.send(one)
        found = (status, content_type.split(";")[0], shape_of(told, content_type))
        expected = (one.status, one.content_type.split(";")[0], one.shape)
        if WATCH.search(one.path):
            found, expected = found[:2], expected[:2]
        if found != expected:
            wrong.append(f"{one.command}: {one.method} {one.path}\n  {expected}\n  {found}")
    assert not wrong, "\n".join(wrong)
