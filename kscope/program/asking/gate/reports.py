"""The reports of a test that other programs read: JUnit and SARIF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from kscope.program.asking.gate.answer import Case, Tested

_SARIF = "2.1.0"
_RULE = "expectation"


def junit(tested: Sequence[Tested]) -> str:
    """As JUnit writes it: a suite for each scenario, a case for each expectation."""
    cases = [case for each in tested for case in each.cases]
    seconds = sum(each.seconds for each in tested)
    root = ElementTree.Element("testsuites", {"name": "kscope", **_numbers(cases, seconds)})
    for each in tested:
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": each.file, **_numbers(each.cases, each.seconds)}
        )
        for case in each.cases:
            _case(suite, case)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _numbers(cases: Sequence[Case], seconds: float) -> dict[str, str]:
    failures = sum(not case.held.holds for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": "0",
        "time": f"{seconds:.1f}",
    }


def _case(suite: ElementTree.Element, case: Case) -> None:
    where = {"line": str(case.line)} if case.line else {}
    element = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": case.file, "file": case.file, **where, "name": case.held.title},
    )
    if case.held.holds:
        return
    failure = ElementTree.SubElement(element, "failure", message=_printable(case.held.found))
    parts = [case.why, f"tried: {case.tried}" if case.tried else ""]
    failure.text = _printable("\n".join(filter(None, parts)))


def _printable(text: str) -> str:
    """Without the characters that XML does not have."""
    return "".join(each for each in text if each in "\t\n" or each >= " ")


def sarif(tested: Sequence[Tested]) -> str:
    """As code scanning reads it. Upstream: OASIS SARIF 2.1.0."""
    rules = [{"id": _RULE, "shortDescription": {"text": "What a scenario expects of its run"}}]
    driver = {"name": "kscope", "rules": rules}
    results = [_result(case) for each in tested for case in each.failures]
    document = {"version": _SARIF, "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(case: Case) -> dict[str, Any]:
    text = " ".join(filter(None, (f"{case.held.title}: {case.held.found}.", case.why, case.tried)))
    place: dict[str, Any] = {"artifactLocation": {"uri": case.file}}
    if case.line:
        place["region"] = {"startLine": case.line}
    return {
        "ruleId": _RULE,
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }
