"""Reading files: what the check of all fields against the OpenAPI definitions costs."""

import time
from unittest import mock

import orjson

from bench.table import Row
from engine.api_server.validation import manifests
from engine.input.generate import synthetic
from engine.input.loader import load_files
from engine.kernel.garbage import collector_paused
from engine.objects.openapi.findings import NOTHING

_ROUNDS = 5


def bench(full: bool = False) -> list[Row]:
    """One row: CPU for each object with the check, beside that without it."""
    objects = list(synthetic(nodes=500, pods=50_000 if full else 5_000).objects)
    text = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    checked, unchecked = [], []
    for _ in range(_ROUNDS):
        checked.append(_seconds(text))
        with mock.patch.object(manifests, "check_fields", return_value=NOTHING):
            unchecked.append(_seconds(text))
    each = 1e6 / len(objects)
    share = min(checked) / min(unchecked) - 1
    return [
        Row(
            name=f"{len(objects):,} objects of a JSON file",
            figure=min(checked) * each,
            unit="µs each",
            baseline=min(unchecked) * each,
            against="reading without check",
            aim=min(unchecked) * each * 1.1,
            at_least=False,
            note=f"the check costs {share:.0%} of reading",
        )
    ]


def _seconds(text: bytes) -> float:
    with collector_paused():
        began = time.process_time()
        assert load_files([("all.json", text)]).ok
        return time.process_time() - began
