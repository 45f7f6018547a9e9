"""What answers each question, loaded only when it is asked."""

from __future__ import annotations

from kscope.program.grammar import Request
from kscope.program.speech.screen import Screen


def _triage(request: Request, screen: Screen) -> int:
    from kscope.program.asking.triage.answer import answer_triage

    return answer_triage(request, screen)


def _why(request: Request, screen: Screen) -> int:
    from kscope.program.asking.why.answer import answer_why

    return answer_why(request, screen)


def _simulate(request: Request, screen: Screen) -> int:
    from kscope.program.asking.play.simulate import answer_simulate

    return answer_simulate(request, screen)


def _diff(request: Request, screen: Screen) -> int:
    from kscope.program.asking.diff import answer_diff

    return answer_diff(request, screen)


def _test(request: Request, screen: Screen) -> int:
    from kscope.program.asking.gate.answer import answer_test

    return answer_test(request, screen)


def _export(request: Request, screen: Screen) -> int:
    from kscope.program.asking.handing.export import answer_export

    return answer_export(request, screen)


def _import(request: Request, screen: Screen) -> int:
    from kscope.program.asking.handing.bring import answer_import

    return answer_import(request, screen)


def _mcp(request: Request, screen: Screen) -> int:
    from kscope.program.asking.agents.serving import answer_mcp

    return answer_mcp(request, screen)


ANSWERS = {
    "triage": _triage,
    "why": _why,
    "simulate": _simulate,
    "diff": _diff,
    "test": _test,
    "mcp": _mcp,
    "export": _export,
    "import": _import,
}
