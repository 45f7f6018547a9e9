"""What comes in a file is bounded and checked: it may be from anybody."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from engine.input.loader import load_files
from engine.input.sources.archives import ArchiveLimits
from engine.input.sources.runs import is_run_file
from engine.run_file.contents import RunFileError
from engine.run_file.reading import read_run_file, recorded_events
from tests.engine.run_file.test_round_trip import file_of, written
from tests.exports.plays import played

Change = Callable[[dict[str, bytes]], None]


def changed(change: Change, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A file of which *change* has changed the members."""
    data = written(file_of(played("half-bound")))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def edited(member: str, edit: Callable[[Any], object]) -> Change:
    """A change of the JSON of a member."""

    def change(members: dict[str, bytes]) -> None:
        value = json.loads(members[member])
        edit(value)
        members[member] = json.dumps(value).encode()

    return change


def fault_of(data: bytes) -> str:
    """Why a file is refused."""
    with pytest.raises(RunFileError) as refused:
        read_run_file(data)
    return str(refused.value)


def test_a_run_is_told_from_other_archives() -> None:
    data = written(file_of(played("half-bound")))
    assert is_run_file(data[:200])
    assert not is_run_file(data[2:200])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
    assert not is_run_file(out.getvalue())


def test_a_loader_of_files_refuses_a_run() -> None:
    loaded = load_files([("run.kscope", written(file_of(played("half-bound"))))])
    assert [each.message for each in loaded.problems] == [
        "it is a run of kscope, which is played and not read as manifests"
    ]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (2, "has format 2, and this version of kscope reads format 1; a newer version wrote it"),
        (0, "has format 0, and this version of kscope reads format 1; the version that wrote it"),
        ("1", "run.json does not say which format the file has"),
        (None, "run.json does not say which format the file has"),
    ],
)
def test_another_format_is_refused_clearly(found: Any, words: str) -> None:
    data = changed(edited("run.json", lambda raw: raw.update(format=found)))
    assert words in fault_of(data)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda members: members.pop("run.json"), "run.json is missing"),
        (lambda members: members.pop("scenario.json"), "scenario.json is missing"),
        (lambda members: members.update({"../../etc/passwd": b""}), "is no part of a run"),
        (lambda members: members.update({"checkpoint.pickle": b""}), "is no part of a run"),
        (lambda members: members.update({"scenario.json": b"{"}), "scenario.json: not JSON"),
        (lambda members: members.update({"commands.ndjson": b"[]\n"}), "a command is no mapping"),
        (lambda members: members.update({"trail": b"abc"}), "the trail is not as long"),
    ],
)
def test_broken_members_are_refused(change: Change, words: str) -> None:
    assert words in fault_of(changed(change))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda raw: raw.update(stranger=1), "stranger: no scenario has this field"),
        (lambda raw: raw["objects"].append({"kind": "Pod"}), "apiVersion: is missing"),
        (lambda raw: raw["objects"].append(7), "expected a manifest, found 7"),
        (lambda raw: raw.update(until=-1), "until: expected ns of virtual time"),
        (lambda raw: raw.update(until=True), "until: expected ns of virtual time"),
        (lambda raw: raw.update(steps=[{"at": 1, "verb": "bind"}]), "no step has this verb"),
        (lambda raw: raw.update(steps=[{"at": "1", "verb": "cordon"}]), "expected ns"),
        (
            lambda raw: raw.update(latencies={"bind": {"shape": "odd", "low": 1, "high": 2}}),
            "no latency",
        ),
        (lambda raw: raw.update(budget={"events": 10**12}), "is no part of a budget"),
        (lambda raw: raw.update(schedulers={}), "expected a list"),
        (lambda raw: raw.update(told={"answer": 5}), "told.answer: expected a text"),
        (lambda raw: raw.update(not_modelled=[{"kind": "<b>"}]), "expected kind, group, count"),
        (lambda raw: raw.update(name="n" * 300), "at most 200 are kept"),
    ],
)
def test_a_scenario_is_checked(edit: Callable[[Any], object], words: str) -> None:
    assert words in fault_of(changed(edited("scenario.json", edit)))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda raw: raw["run"].update(profile="v9.9"), 'run.profile: "v9.9" is not one of'),
        (lambda raw: raw["run"].update(seed=2**70), "seed: expected a whole number"),
        (lambda raw: raw["run"].update(tie_break="dice"), "run.tie_break"),
        (lambda raw: raw["run"].update(pickle="x"), "'pickle' is not known"),
        (lambda raw: raw["end"].update(digest="x"), "end.digest"),
        (lambda raw: raw["end"].update(events=-1), "events: expected a whole number"),
        (lambda raw: raw.update(commands=9), "the file says that it has 9 commands; it has 0"),
    ],
)
def test_what_was_chosen_is_checked(edit: Callable[[Any], object], words: str) -> None:
    assert words in fault_of(changed(edited("run.json", edit)))


def test_commands_of_a_file_are_checked() -> None:
    line = json.dumps({"steps": 1, "at": 1, "body": {"verb": "explode"}}).encode() + b"\n"
    data = changed(lambda members: members.update({"commands.ndjson": line}))
    assert 'a command of the file is none: verb is "explode"' in fault_of(data)


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = changed(lambda members: members.update({"events.ndjson": b"0" * 30_000_000}))
    assert len(bomb) < 60_000
    assert "MiB would come out of the file" in fault_of(bomb)


def test_a_member_larger_than_said_is_refused() -> None:
    data = bytearray(changed(lambda members: None, zipfile.ZIP_STORED))
    # The sizes in the directory at the end, of the member that is read first.
    place = data.rindex(b"run.json") - 46
    size = int.from_bytes(data[place + 24 : place + 28], "little")
    data[place + 24 : place + 28] = (size - 10).to_bytes(4, "little")
    with pytest.raises(RunFileError):
        read_run_file(bytes(data))


def test_sizes_of_an_import_may_be_less() -> None:
    data = written(file_of(played("half-bound")))
    with pytest.raises(RunFileError, match="would come out"):
        read_run_file(data, ArchiveLimits(bytes=1_000))


def test_a_cut_file_is_refused() -> None:
    data = written(file_of(played("half-bound")))
    assert "the file is broken" in fault_of(data[: len(data) // 2])


def test_a_history_with_a_gap_is_refused() -> None:
    line = json.dumps(
        dict.fromkeys(("at", "cause"), 0)
        | {"seq": 2, "kind": "", "object": "", "component": "", "message": ""}
        | {"data": None, "changes": None}
    )
    data = changed(lambda members: members.update({"events.ndjson": line.encode() + b"\n"}))
    with pytest.raises(RunFileError, match="event 2 stands there"):
        list(recorded_events(data))
