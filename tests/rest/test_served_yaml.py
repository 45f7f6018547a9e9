"""`export/?format=yaml` asked over HTTP of a server: the cluster at an event, which comes in again."""

from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import orjson
import pytest
import yaml

from engine.input.loader import load_files
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import run_state_at

Manifest = dict[str, Any]


def asked(address: str, run: Run, **query: Any) -> bytes:
    """The body of an export, as a client gets it piece by piece."""
    path = f"{address}/api/v1/runs/{run.pk}/export/?{urlencode(query)}"
    with urlopen(Request(path), timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("application/yaml")
        content: bytes = answer.read()
        assert len(content) == int(answer.headers["Content-Length"])
        return content


def pods_of(manifests: list[Manifest]) -> dict[str, str]:
    """The node of each pod, "" for none."""
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"].get(
            "nodeName", ""
        )
        for each in manifests
        if each["kind"] == "Pod"
    }


def test_yaml_of_an_event_comes_over_http(address: str, driven: Run) -> None:
    bound = RunEvent.objects.get(run=driven, kind="PodBound", object="pod/default/late").seq
    created = RunEvent.objects.get(run=driven, kind="PodCreated", object="pod/default/web").seq
    for seq in (created, bound - 1, bound, driven.head_seq):
        text = asked(address, driven, format="yaml", seq=seq)
        state = run_state_at(driven, seq=seq).state
        known = {
            entity.removeprefix("pod/"): shown.get("node") or ""
            for entity, shown in state.items()
            if entity.startswith("pod/")
        }
        assert pods_of([*yaml.safe_load_all(text)]) == known
        loaded = load_files([("cluster.yaml", text)])
        assert loaded.ok, loaded.problems
        assert pods_of([dict(each) for each in loaded.manifests]) == known


@pytest.mark.parametrize(
    ("query", "status"),
    [({"seq": 10**9}, 404), ({"seq": "x"}, 400), ({"format": "yml"}, 400), ({"sq": 3}, 400)],
)
def test_what_cannot_be_exported_is_refused_over_http(
    address: str, driven: Run, query: dict[str, Any], status: int
) -> None:
    with pytest.raises(HTTPError) as refused:
        asked(address, driven, **{"format": "yaml", **query})
    assert refused.value.code == status
    told = orjson.loads(refused.value.read())
    assert (told["status"], bool(told["detail"])) == (status, True)
