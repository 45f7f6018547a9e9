"""The forms of faults are those of the engine's tables."""

from typing import Any

import pytest

from engine.api_server.store.fault_forms import fault_forms
from engine.api_server.store.faults import FAIL_FIELDS, KINDS, check

FORMS = fault_forms()
EXAMPLES = {"integer": 1, "number": 0.5}
TEXTS = {"delay": "2s"}


def filled(form: dict[str, Any], *, only_required: bool) -> dict[str, Any]:
    """A fault as somebody fills the form in."""
    fault: dict[str, Any] = dict(form["fixed"])
    for field in form["fields"]:
        if only_required and not field["required"]:
            continue
        text = field["choices"][0] if field["choices"] else TEXTS.get(field["name"], "x")
        fault[field["name"]] = EXAMPLES.get(field["type"], text)
    return fault


def test_every_kind_of_fault_has_a_form() -> None:
    wanted = {f"fail {call}" for call in FAIL_FIELDS} | {*KINDS} - {"fail"}
    assert {form["kind"] for form in FORMS} == wanted


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["kind"])
def test_a_form_filled_in_is_a_fault(form: dict[str, Any]) -> None:
    assert check(filled(form, only_required=False)) is None
    assert check(filled(form, only_required=True)) is None


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["kind"])
def test_what_a_form_requires_is_needed(form: dict[str, Any]) -> None:
    whole = filled(form, only_required=True)
    for field in form["fields"]:
        if field["required"]:
            assert check({name: whole[name] for name in whole if name != field["name"]}) is not None
