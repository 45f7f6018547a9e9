"""What containers print, and what commands in them answer."""

from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.objects.scripts.filling import Filling
from engine.objects.scripts.mounted_files import Sources
from engine.objects.scripts.output import answer_to, printed_lines
from engine.objects.scripts.script import CommandAnswer, Condition, LogLine, Script

POD = Pod({"metadata": {"name": "web"}, "spec": {}})
FILLING = Filling(POD, {"name": "main"}, Sources(), Sources())


def lines(*logs: LogLine, since: int = 0, until: int = 10) -> list[tuple[int, str]]:
    found = printed_lines(Script(logs=logs), 0, since * SECOND, until * SECOND, lambda _: FILLING)
    return [(line.at // SECOND, line.text) for line in found]


def test_lines_come_in_order_of_time() -> None:
    found = lines(
        LogLine("late", 5 * SECOND), LogLine("again", SECOND, 3 * SECOND), LogLine("a\nb")
    )
    assert found == [(0, "a"), (0, "b"), (1, "again"), (4, "again"), (5, "late"), (7, "again")]


def test_lines_begin_where_they_are_wanted() -> None:
    assert lines(LogLine("x", 0, 2 * SECOND), since=5) == [(6, "x"), (8, "x")]


def test_the_oldest_of_many_lines_are_gone() -> None:
    found = lines(LogLine("x", 0, 1), LogLine("y", SECOND), until=10_000)
    assert 50_000 <= len(found) <= 50_001
    assert found[-1] == (9_999, "x")
    assert len(lines(LogLine("x" * 64_000, 0, 1))) < 200


def test_the_first_pattern_of_a_command_answers() -> None:
    first, second = CommandAnswer("cat /etc/*", "a"), CommandAnswer("cat*", "b")
    script = Script(commands=(first, second))
    assert answer_to(script, ["cat", "/etc/hosts"], FILLING) == first
    assert answer_to(script, ["cat", "x"], FILLING) == second
    assert answer_to(script, ["ls"], FILLING) is None


def test_a_line_waits_for_its_file() -> None:
    there = LogLine("there", condition=Condition(file="/etc/a"))
    missing = LogLine("${metadata.name}", condition=Condition(no_file="/etc/a"))
    assert lines(there, missing) == [(0, "web")]
