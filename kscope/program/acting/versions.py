"""`kscope versions`: the rules in which the Kubernetes versions differ."""

from __future__ import annotations

from engine.versions.registry import VERSIONS
from engine.versions.shown.differences import Rule, rules
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status, similar_help
from kscope.program.speech.formats import document, json_lines, written
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen


def answer_versions(request: Request, screen: Screen) -> int:
    """Print all rules, or those of a name."""
    found = _rules_named(request.words)
    if request.output in ("", "wide"):
        paper = screen.paper()
        _write(paper, found, is_whole=request.output == "wide" or bool(request.words))
        screen.show(paper)
    elif request.output == "ndjson":
        screen.write(json_lines(document("VersionRule", **_fields(each)) for each in found))
    else:
        items = [_fields(each) for each in found]
        screen.write(
            written(document("Versions", profiles=list(VERSIONS), rules=items), request.output)
        )
    return Status.FINE


def _rules_named(words: list[str]) -> list[Rule]:
    """All that differ; with a name, the rules of that gate, plugin or rule, whether they differ or not."""
    if not words:
        return [each for each in rules() if each.differs]
    name = words[0].lower()
    found = [each for each in rules() if name in (each.name.lower(), each.plugin.lower())]
    if found:
        return found
    known = [name for each in rules() for name in (each.name, each.plugin) if name]
    helps = similar_help("rule", words[0], known) or ["all rules: kscope versions"]
    raise ProgramError(f"no rule is called {words[0]}", helps=helps)


def _write(paper: Paper, found: list[Rule], *, is_whole: bool) -> None:
    area = ""
    for each in found:
        if each.area != area:
            if area:
                paper.line()
            paper.line(each.area, "bold")
            area = each.area
        paper.line(f"  {each.name}")
        if is_whole:
            paper.paragraph(each.sentence, first="    ")
        values = ", ".join(
            f"{version} {value}" for version, value in zip(VERSIONS, each.values, strict=True)
        )
        paper.paragraph(values, first="    ")


def _fields(rule: Rule) -> dict[str, object]:
    return {
        "area": rule.area,
        "name": rule.name,
        "plugin": rule.plugin or None,
        "sentence": rule.sentence,
        "values": dict(zip(VERSIONS, rule.values, strict=True)),
    }
