"""Evaluates the expressions of one policy for one write.

Upstream: apiserver/pkg/admission/plugin/cel/{condition,composition}.go, validating/validator.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.objects.cel.programs import (
    MOST_STEPS_OF_CALL,
    MOST_STEPS_OF_OBJECT,
    OUT_OF_BUDGET,
    CelError,
    Program,
    compiled,
    message_of,
)
from engine.objects.custom.expressions import most_elements_of
from engine.objects.manifest_parts import items
from engine.objects.values.cel_text import tokens_of

_CALL_LIMIT: Final = "operation cancelled: actual cost limit exceeded"
_VARIABLES: Final = "variables"


class PolicyError(Exception):
    """A policy cannot be applied: what its failurePolicy is about."""


class Evaluation:
    """The expressions of a policy, with the variables of a write, as long as steps are left."""

    def __init__(self, spec: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._spec = spec
        self._given = dict(given)
        self._elements = max(map(most_elements_of, given.values()))
        self._left = MOST_STEPS_OF_OBJECT
        # Nothing more is to be evaluated: the policy is not about the write, or cannot be.
        self.is_over = False
        self._texts = {str(one.get("name")): _text(one) for one in items(spec, "variables")}
        # Variables by name as they were needed: their values, or why there are none.
        self._values: dict[str, Any] = {}
        self._errors: dict[str, str] = {}

    def is_wanted(self) -> bool:
        """Whether all match conditions hold. Raises PolicyError.

        Upstream: plugin/webhook/matchconditions/matcher.go: one that is false counts before errors.
        """
        problem: PolicyError | None = None
        for condition in items(self._spec, "matchConditions"):
            try:
                if self.value(_text(condition)) is False:
                    return False
            except PolicyError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return True

    def is_true(self, rule: Mapping[str, Any]) -> bool:
        """Whether a validation holds; one that is never evaluated does. Raises PolicyError."""
        return self.value(_text(rule)) is True

    def message(self, rule: Mapping[str, Any]) -> str:
        """What a validation says of what it refuses. Upstream: validator.go, Validate()."""
        usual = str(rule.get("message") or "").strip() or f"failed expression: {_text(rule)}"
        expression = str(rule.get("messageExpression") or "").strip()
        if not expression:
            return usual
        try:
            return message_of(self.value(expression), usual)
        except PolicyError:
            return usual

    def annotation(self, text: str) -> str:
        """The value of an audit annotation; "" for none. Raises PolicyError.

        Upstream: validator.go, Validate().
        """
        if _program(text).lacking:
            return ""
        value = self.value(text)
        if value is not None and not isinstance(value, str):
            kind = "Return type must be either string or null."
            raise PolicyError(
                f"valueExpression '{text}' resulted in unsupported return type: "
                f"{_type_name(value)}. {kind}"
            )
        return (value or "").strip()

    def value(self, text: str) -> Any:
        """The value of an expression; one that is never evaluated is true. Raises PolicyError."""
        program = _program(text)
        if program.lacking:
            # Whoever stored the policy was told so.
            return True
        return self._evaluated(program)

    def _evaluated(self, program: Program) -> Any:
        used = self._used(program)
        for name in used:
            self._compute(name)
        self._pay(program)
        try:
            return program.evaluated({**self._given, _VARIABLES: self._values})
        except CelError as error:
            failed = next((self._errors[name] for name in used if name in self._errors), None)
            is_about_it = str(error).startswith("no such key") and failed is not None
            said = failed if is_about_it else str(error)
            raise PolicyError(f"expression '{program.text}' resulted in error: {said}") from None

    def _used(self, program: Program) -> list[str]:
        """The names of variables in an expression, which may go through them later or never."""
        if _VARIABLES not in program.variables:
            return []
        tokens = tokens_of(program.text)
        return [
            tokens[place + 2].text
            for place in range(len(tokens) - 2)
            if tokens[place].text == _VARIABLES and tokens[place + 1].text == "."
        ]

    def _compute(self, name: str) -> None:
        """Upstream: composition.go: a variable is evaluated when it is first asked for."""
        if name in self._values or name in self._errors or name not in self._texts:
            return
        text = self._texts.pop(name)
        try:
            self._values[name] = self.value(text)
        except PolicyError as error:
            self._errors[name] = f'composited variable "{name}" fails to evaluate: {error}'

    def _pay(self, program: Program) -> None:
        steps = program.steps(self._elements)
        if steps > MOST_STEPS_OF_CALL:
            raise PolicyError(f"expression '{program.text}' resulted in error: {_CALL_LIMIT}")
        self._left -= steps
        if self._left < 0:
            raise PolicyError(OUT_OF_BUDGET)


def _program(text: str) -> Program:
    try:
        return compiled(text)
    except CelError as error:
        raise PolicyError(f"compilation error: compilation failed: {error}") from None


def _type_name(value: Any) -> str:
    """As cel-go names it."""
    kinds: tuple[tuple[type, str], ...] = (
        *((bool, "bool"), (int, "int"), (float, "double")),
        *((bytes, "bytes"), (dict, "map"), (list, "list")),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "dyn")


def _text(one: Mapping[str, Any]) -> str:
    return str(one.get("expression") or "").strip()
