"""View states from keyframes, and the patches between them, are those of folding every event."""

import asyncio
import random
import zlib
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, cast

import orjson
import pytest
from django.http import StreamingHttpResponse
from django.test import Client

from engine.kernel.view import fold
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.drive.checkpoints import engine_bytes
from kscope.runs.drive.replay import engine_at_seq
from kscope.runs.history import differences, states
from kscope.runs.history.chunks import Part, text_of
from kscope.runs.history.differences import patch_between
from kscope.runs.history.keyframes import chunks_forget
from kscope.runs.models import Checkpoint, Keyframe, Run, ViewChunk
from kscope.runs.record.parts import in_history
from kscope.runs.selectors import run_state_at
from kscope.runs.stream import snapshots
from tests.web.history.conftest import folded


def plain(patch: dict[str, Any]) -> dict[str, Any]:
    return orjson.loads(orjson.dumps(patch))


def keyframes_of(run: Run) -> list[Keyframe]:
    return list(Keyframe.objects.filter(run=run).order_by("seq"))


def test_every_state_is_the_fold_of_its_events(churned: Run) -> None:
    assert len(keyframes_of(churned)) > 5
    for seq, expected in enumerate(folded(churned)):
        assert run_state_at(churned, seq=seq).state == expected


def test_some_entities_are_as_in_the_whole(churned: Run) -> None:
    every = [*folded(churned)[-1], "pod/default/web", "pod/nobody/none", "unknown/x"]
    for keyframe in keyframes_of(churned):
        base = states.base_before(churned.pk, keyframe.seq)
        whole = base.texts()
        for entity in every:
            expected = {entity: whole[entity]} if entity in whole else {}
            assert base.some([entity]) == expected


@pytest.mark.parametrize(
    ("near", "few"), [(0, 0), (0, 1_000), (1_000, 0)], ids=["by levels", "whole", "by events"]
)
def test_a_patch_leads_to_any_other_state(
    churned: Run, monkeypatch: pytest.MonkeyPatch, near: int, few: int
) -> None:
    monkeypatch.setattr(differences, "NEAR", near)
    monkeypatch.setattr(differences, "FEW", few)
    known, chance = folded(churned), random.Random(3)
    pairs = [chance.choices(range(len(known)), k=2) for _ in range(150)]
    for origin, target in [(0, len(known) - 1), (len(known) - 1, 0), *pairs]:
        state = dict(known[origin])
        patch = plain(patch_between(churned.pk, origin, target))
        fold(state, patch)
        assert state == known[target], (origin, target)
        same = {each for each in patch if known[origin].get(each) == known[target].get(each)}
        assert not same


@pytest.mark.parametrize(
    ("near", "few"), [(0, 0), (0, 1_000), (1_000, 0)], ids=["by levels", "whole", "by events"]
)
def test_a_part_is_as_in_the_whole(
    churned: Run, monkeypatch: pytest.MonkeyPatch, near: int, few: int
) -> None:
    monkeypatch.setattr(differences, "NEAR", near)
    monkeypatch.setattr(differences, "FEW", few)
    known, chance = folded(churned), random.Random(4)
    pods = sorted({each for state in known for each in state if each.startswith("pod/")})
    for names in (["node"], [pods[0], pods[-1]], ["queue", "node", pods[1]], ["pod/none/x"]):
        part = Part.of(names)
        for origin, target in [chance.choices(range(len(known)), k=2) for _ in range(20)]:
            before, after = (
                {
                    each: shown
                    for each, shown in known[seq].items()
                    if each in names or each.partition("/")[0] in names
                }
                for seq in (origin, target)
            )
            assert states.texts_at(churned.pk, target, part) == {
                each: text_of(shown) for each, shown in after.items()
            }
            fold(before, plain(patch_between(churned.pk, origin, target, part)))
            assert before == after


def test_chunks_of_other_kinds_are_not_read(churned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_kept", states._Kept())
    seq = keyframes_of(churned)[0].seq
    states.texts_at(churned.pk, seq, Part.of(["node"]))
    few = states._kept._bytes
    states.texts_at(churned.pk, seq)
    assert 0 < few < states._kept._bytes


def test_a_later_keyframe_writes_what_changed(churned: Run) -> None:
    known, found = folded(churned), pairwise(keyframes_of(churned))
    # Where slices end, and so which keyframes there are, depends on how busy the machine is.
    sharing = [later for before, later in found if before.levels[0] == later.levels[0]]
    assert sharing
    for later in sharing:
        changed = states.entities_of(churned.pk, later.levels[-1][0])
        assert len(changed) < len(known[later.seq])


def test_a_run_goes_on_from_its_keyframes(churned: Run) -> None:
    services.command_submit(run=churned, body={"verb": "cordon", "object": "node/n1"})
    runner.run_drive(churned.pk)
    churned.refresh_from_db()
    assert run_state_at(churned, seq=churned.head_seq).state == folded(churned)[-1]
    assert states.state_at(churned.pk, churned.head_seq)["node/n1"]["unschedulable"]


def test_views_of_older_checkpoints_are_read(churned: Run) -> None:
    known = folded(churned)
    Keyframe.objects.filter(run=churned).delete()
    ViewChunk.objects.filter(run=churned).delete()
    for checkpoint in Checkpoint.objects.filter(run=churned):
        text = orjson.dumps(known[checkpoint.seq], option=orjson.OPT_SORT_KEYS)
        checkpoint.view, checkpoint.view_digest = zlib.compress(text, 1), states.old_digest(text)
        checkpoint.save()
    for seq in range(0, len(known), 3):
        assert run_state_at(churned, seq=seq).state == known[seq]
        state = dict(known[-1])
        fold(state, plain(patch_between(churned.pk, len(known) - 1, seq)))
        assert state == known[seq]


def test_checkpoints_packed_by_older_versions_are_read(churned: Run) -> None:
    checkpoint = Checkpoint.objects.filter(run=churned).latest("seq")
    engine = engine_bytes(checkpoint)
    assert len(checkpoint.engine) < len(zlib.compress(engine, 1))
    checkpoint.engine = zlib.compress(engine, 1)
    checkpoint.save()
    restored = engine_at_seq(churned, seq=checkpoint.seq)
    assert (restored.seq, restored.digest()) == (checkpoint.seq, checkpoint.digest)
    assert engine_bytes(checkpoint) == engine


def test_changed_content_of_a_chunk_is_noticed(churned: Run) -> None:
    ViewChunk.objects.filter(run=churned).update(body=zlib.compress(b"node/n1\t{}"))
    with pytest.raises(states.CorruptHistory):
        run_state_at(churned, seq=churned.head_seq)


def test_chunks_without_a_keyframe_are_forgotten(churned: Run) -> None:
    first, *others = keyframes_of(churned)
    before = ViewChunk.objects.filter(run=churned).count()
    for each in others[:-1]:
        Keyframe.objects.filter(run=churned, seq=each.seq).delete()
    chunks_forget(churned.pk)
    assert 0 < ViewChunk.objects.filter(run=churned).count() < before
    for seq in (first.seq, others[-1].seq, churned.head_seq):
        assert run_state_at(churned, seq=seq).state == folded(churned)[seq]


def test_a_fork_has_the_keyframes_of_its_parent(churned: Run) -> None:
    fork = services.run_fork(run=churned, seq=churned.head_seq)
    assert not Keyframe.objects.filter(run=fork).exists()
    assert Keyframe.objects.filter(in_history(fork.pk)).exists()
    services.run_delete(run=churned)
    fork.refresh_from_db()
    known = folded(fork)
    for seq in range(0, fork.head_seq, 4):
        assert run_state_at(fork, seq=seq).state == known[seq]


def test_rest_answers_one_patch_between_two_events(client: Client, churned: Run) -> None:
    path, known = f"/api/v1/runs/{churned.pk}/state/", folded(churned)
    for origin, to in ((10, 40), (40, 10), (churned.head_seq, 1), (7, 7)):
        answer = client.get(f"{path}?from={origin}&to={to}").json()
        whole = client.get(f"{path}?seq={to}").json()
        state = dict(known[origin])
        fold(state, answer["changes"])
        assert state == whole["state"] == known[to]
        assert (answer["origin"], answer["seq"], answer["at"]) == (origin, to, whole["at"])
        assert answer["events"] == whole["events"]
    assert client.get(f"{path}?from=7&to=7").json()["changes"] == {}


@pytest.mark.parametrize(("name", "asked"), [("state", "seq=30"), ("changes", "from=30&to=5")])
def test_rest_answers_in_parts_for_pages(
    client: Client, churned: Run, monkeypatch: pytest.MonkeyPatch, name: str, asked: str
) -> None:
    monkeypatch.setattr(snapshots, "PART", 3)
    path = f"/api/v1/runs/{churned.pk}/state/?{asked}"
    whole = client.get(path).json()
    answer = cast("StreamingHttpResponse", client.get(f"{path}&parts=1"))
    first, *others = [orjson.loads(line) for line in asyncio.run(_sent(answer))]
    assert [part.pop("more") for part in (first, *others)] == [True] * len(others) + [False]
    assert all(part.keys() == {name} for part in others)
    parts = [first.pop(name), *(part[name] for part in others)]
    assert max(map(len, parts)) == 3
    assert {**first, name: {key: value for part in parts for key, value in part.items()}} == whole


async def _sent(answer: StreamingHttpResponse) -> list[bytes]:
    return [line async for line in cast("AsyncIterator[bytes]", answer.streaming_content)]


def test_rest_answers_what_a_page_shows(client: Client, churned: Run) -> None:
    path, known = f"/api/v1/runs/{churned.pk}/state/", folded(churned)
    to, pod = churned.head_seq, next(each for each in known[-1] if each.startswith("pod/"))
    wanted = {each: one for each, one in known[to].items() if each == pod or each[:5] == "node/"}
    assert client.get(f"{path}?seq={to}&only=node,{pod}").json()["state"] == wanted
    state = {each: one for each, one in known[10].items() if each == pod or each[:5] == "node/"}
    fold(state, client.get(f"{path}?from=10&to={to}&only=node,{pod}").json()["changes"])
    assert state == wanted


def test_rest_refuses_events_that_are_not_there(client: Client, churned: Run) -> None:
    path = f"/api/v1/runs/{churned.pk}/state/"
    beyond = churned.head_seq + 1
    assert client.get(f"{path}?from={beyond}&to=1").status_code == 404
    assert client.get(f"{path}?from=1&to={beyond}").status_code == 404
    assert client.get(f"{path}?seq=1&to=2").status_code == 400


def test_a_patch_may_lead_to_a_moment(client: Client, churned: Run) -> None:
    path = f"/api/v1/runs/{churned.pk}/state/"
    whole = client.get(f"{path}?at=3500000000").json()
    answer = client.get(f"{path}?from=2&at=3500000000").json()
    assert answer["seq"] == whole["seq"]
    state = dict(folded(churned)[2])
    fold(state, answer["changes"])
    assert state == whole["state"]


def test_only_so_many_bytes_of_chunks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MOST_BYTES", 100)
    known = states._Kept()
    for name in "abcd":
        known.put(name, 40, {name: b"{}"})
        known.get("b")
    assert [name for name in "abcd" if known.get(name)] == ["b", "d"]


def test_equal_attributes_have_equal_texts() -> None:
    assert text_of({"b": 1, "a": {"d": 2, "c": []}}) == b'{"a":{"c":[],"d":2},"b":1}'
