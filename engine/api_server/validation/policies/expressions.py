"""The expressions of policies and of webhooks' match conditions, as far as their text shows.

Upstream: apiserver/pkg/admission/plugin/cel/compile.go.
"""

from __future__ import annotations

from typing import Final

from engine.objects.cel.programs import CelError, compiled, place_of, placed

# What an expression is given of the write that it looks at.
ABOUT: Final = ("object", "oldObject", "request")
AUTHORIZER: Final = "authorizer"
OF_CONDITIONS: Final = frozenset((*ABOUT, AUTHORIZER))
OF_POLICIES: Final = OF_CONDITIONS | {"namespaceObject", "params", "variables"}


def expression_fault(text: str, variables: frozenset[str]) -> str | None:
    """Why a text is no expression with these variables, or None."""
    try:
        program = compiled(text)
    except CelError as error:
        return f"compilation failed: {error}"
    name = program.unknown_name(variables)
    if name is None:
        return None
    why = f"undeclared reference to '{name}' (in container '')"
    return f"compilation failed: {placed(text, place_of(text, name), why)}"


def lacking(text: str) -> list[str]:
    """The functions that an expression which compiles has and a run has not, by name.

    It is taken and never evaluated.
    """
    try:
        return compiled(text).lacking
    except CelError:
        return []
