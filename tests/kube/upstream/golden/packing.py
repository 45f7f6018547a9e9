"""Packs recordings, one file for each spec, into the archive."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.kube.upstream import page
from tests.kube.upstream.golden.reducing import begins, steps_of
from tests.kube.upstream.golden.steps import Golden, pack
from tests.kube.upstream.reasons import UNKNOWN, unheld_reason
from tests.kube.upstream.suite import Spec


def pack_all(folder: Path, told: Mapping[Spec, str]) -> int:
    """Pack those of *folder* that are of these specs, of which the page says what is *told*."""
    framework: set[str] = set()
    found: list[Golden] = []
    for spec, one in sorted(told.items()):
        path = folder / f"{spec.file_name}.jsonl"
        if path.exists() and unheld_reason(page.shown(spec)) == UNKNOWN:
            with path.open() as lines:
                entries = [json.loads(line) for line in lines]
            found.append(
                Golden(
                    name=page.shown(spec),
                    is_scripted=one == page.SCRIPTED,
                    begins=begins(entries),
                    steps=steps_of(entries, framework),
                )
            )
    pack(found)
    return len(found)
