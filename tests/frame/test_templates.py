"""Templates draw; views and tags decide."""

import re
from pathlib import Path

ROOM = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOM / "templates").rglob("*.html"))
DESCRIPTION = re.compile(r"<dd\b.*?</dd>", re.DOTALL)
DECIDES = re.compile(r"{%\s*(if|elif|else|with|cycle|ifchanged|firstof|widthratio)\b")
TWO_FILTERS = re.compile(r"{{[^}]*\|[^}|]*\|[^}]*}}")


def decisions(text: str) -> list[str]:
    """The descriptions (`<dd>`) of a template that decide something or chain filters."""
    found = DESCRIPTION.findall(text)
    return [each for each in found if DECIDES.search(each) or TWO_FILTERS.search(each)]


def test_descriptions_in_templates_decide_nothing() -> None:
    assert {str(each): decisions(each.read_text()) for each in TEMPLATES} == {
        str(each): [] for each in TEMPLATES
    }


def test_a_description_with_logic_is_found() -> None:
    assert decisions("<dd>{{ size|add:1|filesizeformat }}</dd>")
    assert decisions("<dd>{% if day %}soon{% endif %}</dd>")
    assert not decisions("<dd>{{ size|filesizeformat }}</dd>{% if day %}soon{% endif %}")
