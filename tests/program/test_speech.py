"""Widths, colours, signs, ages and names: how the program speaks."""

import io
import re

import polib
import pytest

from kscope.program.speech.of_cluster import document_of_cluster, of_cluster
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import first_small, folded, human_duration
from tests.program.asked import ROOT


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def _shown(color: str = "auto", **environment: str) -> str:
    out = Terminal()
    screen = Screen(out, Terminal(), environment, color=color)
    paper = screen.paper()
    paper.line("2 pods wait.", "bold red")
    screen.show(paper)
    return out.getvalue()


@pytest.mark.parametrize(
    ("color", "environment", "is_colored"),
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"TERM": "dumb"}, False),
        ("never", {}, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, True),
    ],
)
def test_colours_are_switched_off_as_people_expect(
    color: str, environment: dict[str, str], is_colored: bool
) -> None:
    assert ("\x1b[1;31m" in _shown(color, **environment)) is is_colored


def test_without_a_terminal_there_are_no_colours() -> None:
    out = io.StringIO()
    screen = Screen(out, io.StringIO(), {})
    paper = screen.paper()
    paper.line("2 pods wait.", "bold red")
    screen.show(paper)
    assert out.getvalue() == "2 pods wait.\n"


def test_signs_follow_the_locale() -> None:
    paper = Paper(is_plain=True)
    paper.line("✓ a  ◐ b  ≠  c–d …")
    assert paper.lines[0].text == "ok a  part b  !=  c-d ..."


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("300", 100), ("x", 100)])
def test_width_is_at_most_100_columns(columns: str, width: int) -> None:
    screen = Screen(io.StringIO(), io.StringIO(), {"COLUMNS": columns})
    assert screen.paper().width == width


def test_a_table_below_60_columns_becomes_lines() -> None:
    paper = Paper(width=50)
    paper.table([["POD", "WHY"], ["web-0", "memory is short"]])
    assert [line.text for line in paper.lines] == ["pod: web-0", "why: memory is short"]


def test_a_wide_cell_is_wrapped_whole() -> None:
    paper = Paper(width=60)
    paper.table([["POD", "WHY"], ["web-0", "word " * 20]])
    assert max(len(line.text) for line in paper.lines) <= 60
    assert " ".join(line.text for line in paper.lines).count("word") == 20


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (130, "2m10s"),
        (4_500, "75m"),
        (18_600, "5h10m"),
        (86_400, "24h"),
        (3 * 86_400, "3d"),
        (10 * 86_400, "10d"),
    ],
)
def test_ages_are_rounded_as_kubectl_does(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a-1", "a-2", "a-3", "a-10"], "a-1–3, a-10"),
        (["general-b1", "general-a3", "general-a1", "general-a2"], "general-a1–a3, general-b1"),
        (["web-2", "web-10"], "web-2, web-10"),
        (["node-00", "node-01", "node-02"], "node-00–02"),
        ([], ""),
    ],
)
def test_runs_of_names_are_folded(names: list[str], text: str) -> None:
    assert folded(names) == text


def test_a_leading_name_keeps_its_letters() -> None:
    assert first_small("Add a node") == "add a node"
    assert first_small("PVC data waits") == "PVC data waits"


def test_progress_is_for_terminals_alone() -> None:
    err = io.StringIO()
    screen = Screen(io.StringIO(), err, {})
    screen._began -= 10
    screen.progress("playing")
    assert err.getvalue() == ""


def test_progress_is_gone_before_an_answer() -> None:
    err = Terminal()
    screen = Screen(Terminal(), err, {})
    screen._began -= 10
    screen.progress("playing surge  1.0 of 2.0 s")
    screen.show(screen.paper())
    assert err.getvalue() == "\r\x1b[Kplaying surge  1.0 of 2.0 s\r\x1b[K"


def _sentences_about_files() -> list[str]:
    """All that the engine says of files when it is asked what is stuck, from its catalogue."""
    catalogue = polib.pofile(str(ROOT / "kscope/locale/django.pot"))
    rooms = ("engine/diagnosis/triage", "engine/diagnosis/first_look", "engine/input/assumed")
    return [
        text
        for entry in catalogue
        if any(place.startswith(rooms) for place, _ in entry.occurrences)
        for text in (entry.msgid, entry.msgid_plural)
        if re.search(r"\bfiles\b", text)
    ]


def test_sentences_about_files_fit_clusters() -> None:
    found = _sentences_about_files()
    assert len(found) > 30
    left = [said for said in map(of_cluster, found) if re.search(r"\bfiles\b", said)]
    assert not left


def test_only_words_about_files_are_changed() -> None:
    assert of_cluster("No Secrets are in these files.") == "No Secrets are in this cluster."
    same = "the kubelet grows the file system; /etc/files"
    assert of_cluster(same) == same
    document = {"files": ["in the files", 3], "names": {"a": "the files name no time"}}
    assert document_of_cluster(document) == {
        "files": ["in this cluster", 3],
        "names": {"a": "this cluster names no time"},
    }


def test_a_screen_of_a_cluster_says_so_everywhere() -> None:
    out, err = Terminal(), Terminal()
    screen = Screen(out, err, {"COLUMNS": "60"}, is_of_cluster=True)
    paper = screen.paper()
    paper.paragraph("Node n1 is not in these files; it is assumed to be ready.")
    paper.table([["A"], ["No Events are in these files"]])
    screen.show(paper)
    screen.warning("nothing of it is in these files")
    assert "files" not in out.getvalue() + err.getvalue()
