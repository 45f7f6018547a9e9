"""`export`, `import` and `simulate --save`: a run as a file, and for other programs."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.program.asked import SCENARIOS, Program
from tests.program.transcripts import lines_from

DEMO = str(SCENARIOS / "local-volumes.yaml")


def test_a_run_is_written_and_played_again(kscope: Program, tmp_path: Path) -> None:
    said = kscope("export", str(SCENARIOS / "checkout-surge.yaml"), "surge.kscope", folder=tmp_path)
    assert (said.status, said.out) == (0, "")
    begins = "wrote surge.kscope (scenario, v1.34, seed 11, gates, 0 commands, digest sha256:"
    assert said.err.startswith(begins)
    again = kscope("simulate", "surge.kscope", folder=tmp_path)
    assert again.status == 0
    assert again.lines[0] == "142 of 145 pods got a node within 80 s; 3 wait."
    digest = said.err.partition("digest ")[2].partition(";")[0]
    assert again.err == f"note: replayed to the same digest, {digest}\n"


def test_simulate_saves_what_it_plays(kscope: Program, tmp_path: Path) -> None:
    plain = kscope("simulate", DEMO, folder=tmp_path)
    said = kscope("simulate", DEMO, "--save", "run.kscope", "--history", folder=tmp_path)
    assert (said.status, said.out) == (plain.status, plain.out)
    assert "wrote run.kscope (scenario, v1.36, seed 0, gates, 0 commands, 61 events" in said.err
    with zipfile.ZipFile(tmp_path / "run.kscope") as archive:
        events = [json.loads(line) for line in archive.read("events.ndjson").splitlines()]
        evidence = [json.loads(line) for line in archive.read("evidence.ndjson").splitlines()]
    assert len(events) == 61
    assert [each["pod"] for each in evidence if each["result"] == "scheduled"]
    assert all(each["evidence"]["scores"] is not None for each in evidence)
    refused = kscope("simulate", DEMO, "--history", folder=tmp_path)
    assert (refused.status, "--save run.kscope --history" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "ending",
    [".ndjson", ".csv", ".parquet", ".pftrace", ".otlp.json", ".prom", ".json.gz", ".yaml"],
)
def test_a_file_gives_what_the_run_gives(kscope: Program, tmp_path: Path, ending: str) -> None:
    assert kscope("simulate", DEMO, "--save", "run.kscope", folder=tmp_path).status == 0
    assert kscope("export", "run.kscope", f"a{ending}", folder=tmp_path).status == 0
    assert kscope("export", DEMO, f"b{ending}", folder=tmp_path).status == 0
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()
    assert not list(tmp_path.glob(".*.part"))


def test_an_export_may_go_to_standard_output(kscope: Program) -> None:
    said = kscope("export", DEMO, "-o", "yaml", "--at", "3s", "-")
    assert (said.status, said.err) == (0, "")
    kinds = [each["kind"] for each in yaml.safe_load_all(said.out)]
    assert (kinds[0], kinds.count("Node")) == ("StorageClass", 2)


def test_a_diagram_is_of_one_pod(kscope: Program, tmp_path: Path) -> None:
    said = kscope("export", DEMO, "pod/db-0", "db.mmd", folder=tmp_path)
    assert said.status == 0
    assert (tmp_path / "db.mmd").read_text().startswith("sequenceDiagram\n    title default/db-0")
    none = kscope("export", DEMO, "db.mmd", folder=tmp_path)
    assert (none.status, none.err.splitlines()[0]) == (
        2,
        "error: a diagram shows one pod, and none was named",
    )
    gone = kscope("export", DEMO, "pod/nobody", "nobody.mmd", folder=tmp_path)
    assert (gone.status, gone.err) == (2, "error: the run has no pod default/nobody\n")
    assert not (tmp_path / "nobody.mmd").exists()


def test_an_unknown_ending_is_refused_as_designed(kscope: Program, tmp_path: Path) -> None:
    said = kscope("export", DEMO, "surge.docx", folder=tmp_path)
    assert said.status == 2
    assert said.err.splitlines() == lines_from("export", "error: no format has the ending .docx")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["export", "run.kscope"], "error: no file to write was named"),
        (["export", DEMO, "-"], "error: which format?"),
        (["export", "-o", "docx", DEMO, "-"], "error: no output format is called docx"),
        (["export", "run/1", "run/2", "x.csv"], "error: run/1 is exported alone"),
        (
            ["export", "run.kscope", "x.csv", "--seed", "4"],
            "error: --seed: run.kscope is a run, and has its own",
        ),
        (["triage", "run.kscope"], "error: run.kscope is a run; triage takes files of a cluster"),
        (
            ["export", "run.kscope", DEMO, "x.csv"],
            "error: run.kscope is a run, which is played alone",
        ),
    ],
)
def test_wrong_words_are_refused(
    kscope: Program, tmp_path: Path, words: list[str], error: str
) -> None:
    kscope("simulate", DEMO, "--save", "run.kscope", folder=tmp_path)
    said = kscope(*words, folder=tmp_path)
    assert (said.status, said.err.splitlines()[0]) == (2, error)


def test_import_says_what_is_in_a_run(kscope: Program, tmp_path: Path) -> None:
    kscope("simulate", DEMO, "--save", "run.kscope", folder=tmp_path)
    said = kscope("import", "--dry-run", "run.kscope", folder=tmp_path)
    assert said.status == 0
    assert said.lines[0] == "run.kscope is a run of local-volumes."
    gone = kscope("import", "run.kscope", "--server", "http://127.0.0.1:9/", folder=tmp_path)
    assert (gone.status, gone.err.splitlines()[:2]) == (
        3,
        ["error: no kscope answers at http://127.0.0.1:9/", "  help: start one: kscope up"],
    )


def _rewritten(path: Path, change: Callable[[str, bytes], bytes]) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            new.writestr(info, change(info.filename, old.read(info)))
    path.write_bytes(out.getvalue())


@pytest.mark.parametrize("history", [True, False])
def test_a_parting_is_told_with_both_texts(kscope: Program, tmp_path: Path, history: bool) -> None:
    words = ["--history"] if history else []
    kscope("simulate", DEMO, "--save", "run.kscope", *words, folder=tmp_path)

    def other(name: str, data: bytes) -> bytes:
        if name == "trail":
            return data[:18] + bytes(each ^ 1 for each in data[18:])
        return (
            data.replace(b'"kind":"PodCreated"', b'"kind":"PodMade"')
            if name == "events.ndjson"
            else data
        )

    _rewritten(tmp_path / "run.kscope", other)
    said = kscope("simulate", "run.kscope", folder=tmp_path)
    assert said.status == 3
    text = " ".join(said.err.split())
    assert "run.kscope and this kscope part at event 10; the file was written by kscope" in text
    theirs = text.partition("in the file: ")[2].partition(" warning: ")[0]
    assert ("not known" in theirs) != history
    assert "here: 0.0" in text


def test_a_newer_file_is_refused_clearly(kscope: Program, tmp_path: Path) -> None:
    kscope("simulate", DEMO, "--save", "run.kscope", folder=tmp_path)
    _rewritten(
        tmp_path / "run.kscope", lambda _, data: data.replace(b'"format": 1', b'"format": 7')
    )
    said = kscope("simulate", "run.kscope", folder=tmp_path)
    assert said.status == 2
    assert said.err.startswith(
        "error: run.kscope cannot be read: the file has format 7, and this version"
    )
