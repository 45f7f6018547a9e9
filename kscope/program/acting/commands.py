"""What carries out each act, loaded only when it is asked for."""

from __future__ import annotations

from kscope.program.grammar import Request
from kscope.program.speech.screen import Screen


def _up(request: Request, screen: Screen) -> int:
    from kscope.program.acting.up import answer_up

    return answer_up(request, screen)


def _collect(request: Request, screen: Screen) -> int:
    from kscope.program.acting.collect import answer_collect

    return answer_collect(request, screen)


def _follow(request: Request, screen: Screen) -> int:
    from kscope.program.acting.follow.answer import answer_follow

    return answer_follow(request, screen)


def _rbac(request: Request, screen: Screen) -> int:
    from kscope.program.acting.rbac import answer_rbac

    return answer_rbac(request, screen)


def _versions(request: Request, screen: Screen) -> int:
    from kscope.program.acting.versions import answer_versions

    return answer_versions(request, screen)


def _completion(request: Request, screen: Screen) -> int:
    from kscope.program.acting.completion import answer_completion

    return answer_completion(request, screen)


def _man(request: Request, screen: Screen) -> int:
    from kscope.program.acting.man import answer_man

    return answer_man(request, screen)


def _managed(request: Request, screen: Screen) -> int:
    from kscope.program.acting.managed import answer_managed

    return answer_managed(request, screen)


ANSWERS = {
    "up": _up,
    "collect": _collect,
    "follow": _follow,
    "rbac": _rbac,
    "versions": _versions,
    "completion": _completion,
    "man": _man,
    "account": _managed,
    "kubeconfig": _managed,
}
