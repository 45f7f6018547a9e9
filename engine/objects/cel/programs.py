"""Expressions with variables of any shape: compiled, counted and evaluated by the library `cel`.

The library cannot be interrupted, so how long an evaluation may take is reckoned before, from the
text and from the sizes of the values. Upstream: apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from engine.objects.cel.authorizing import METHODS
from engine.objects.cel.errors import worded
from engine.objects.cel.functions import FUNCTIONS
from engine.objects.cel.lists import LIST_FUNCTIONS
from engine.objects.cel.optionals import OPTIONAL, optional_field, with_optional_calls
from engine.objects.cel.rewriting import with_checked_negations
from engine.objects.values.cel_text import (
    CEL_ERRORS,
    ExpressionError,
    called,
    most_steps,
    tokens_of,
    variables_of_comprehensions,
    without_bind,
)

if TYPE_CHECKING:
    import cel

# Of one evaluation and of all rules for one object, in steps of about a microsecond.
# Upstream: apiserver/pkg/apis/cel/config.go, PerCallLimit and RuntimeCELCostBudget, in units of cost.
MOST_STEPS_OF_CALL: Final = 1_000_000
MOST_STEPS_OF_OBJECT: Final = 5_000_000

OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
# Upstream: MaxEvaluatedMessageExpressionSizeBytes.
_LONGEST_MESSAGE: Final = 5 * 1024

_LIBRARIES: Final = ("core", "strings", "sets", "encoders", "lists")
# The library's own, beside operators.
_BUILT_IN: Final = frozenset(
    ("size", "contains", "startsWith", "endsWith", "matches", "string", "bytes", "double", "int")
    + ("uint", "duration", "timestamp", "dyn", "type", "getFullYear", "getMonth", "getDayOfYear")
    + ("getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "getSeconds")
    + ("getMilliseconds", "of", "none", "ofNonZeroValue", "hasValue", "value", "or", "orValue")
)
# What Kubernetes has and this does not: an expression with one of them is taken, and never evaluated.
_LACKING: Final = frozenset(
    (
        "all",
        "exists",
        "existsOne",
        "exists_one",
        "transformList",
        "transformMap",
        "transformMapEntry",
    )
    + ("optMap", "optFlatMap", "find", "findAll", "url", "isURL", "getScheme", "getHost")
    + ("getHostname", "getPort", "getEscapedPath", "getQuery", "ip", "cidr", "family", "masklen")
    + ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast")
    + ("isGlobalUnicast", "containsIP", "containsCIDR", "prefixLength", "masked", "named")
    + ("validate", "unwrap", "unwrapOpt", "isCanonical")
)
# What the library has beyond what Kubernetes offers: it makes a list of any length.
_WITHHELD: Final = frozenset(("lists.range",))
_TYPES: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string")
    + ("timestamp", "type", "uint", "optional", "sets", "base64", "strings", "google")
)
_OPERATOR: Final = re.compile(r"\W|_.*_|@.*")
_PLACED: Final = re.compile(r"ERROR: <input>:.*", re.DOTALL)


class CelError(ValueError):
    """An expression cannot be compiled, or cannot be evaluated, in the words of cel-go."""


class Program:
    """An expression that can be evaluated with variables. Raises CelError as compiled()."""

    def __init__(self, expression: str) -> None:
        # Imported by the first expression: the library costs a third of a second.
        import cel

        self.text = expression
        try:
            self.written = with_checked_negations(without_bind(with_optional_calls(expression)))
            self._program: cel.Program = called(cel.compile, self.written)
        except ExpressionError as error:
            raise CelError(str(error)) from None
        except CEL_ERRORS as error:
            raise CelError(_syntax_fault(str(error))) from None
        own = variables_of_comprehensions(self.written) | _TYPES
        self.variables = frozenset(self._program.variables()) - own
        self.functions = frozenset(self._program.functions())

    @property
    def lacking(self) -> list[str]:
        """The functions of Kubernetes for which there is no code here, by name."""
        return sorted(self.functions & _LACKING)

    def unknown_name(self, variables: frozenset[str]) -> str | None:
        """The first variable or function that neither *variables* nor Kubernetes has.

        A function that is lacking may give names to elements, so that nothing is known of names.
        """
        if self.lacking:
            return None
        unknown = sorted(self.variables - variables)
        unknown += sorted(
            name
            for name in self.functions
            if not _OPERATOR.match(name) and name not in _known_functions()
        )
        return unknown[0] if unknown else None

    def evaluated(self, variables: Mapping[str, Any]) -> Any:
        """The value of the expression. Raises CelError."""
        import cel

        try:
            # A context of its own: several threads of a server may look at objects.
            context = cel.Context({**variables}, _functions())
            return called(self._program.execute, context)
        except KeyError as error:
            raise CelError(f"no such key: {error.args[0]}") from None
        except CEL_ERRORS as error:
            text = worded(error)
            is_overload = text.startswith("Unexpected type") or "variable or function" in text
            raise CelError("no such overload" if is_overload else text) from None

    def steps(self, elements: int) -> int:
        """How many steps an evaluation takes at most, with so many elements in a list or map."""
        return _steps(self.written, 1 << max(elements, 1).bit_length())


@lru_cache(maxsize=512)
def compiled(expression: str) -> Program:
    """The program of an expression.

    Raises:
        CelError: it is no CEL.
    """
    return Program(expression)


def message_of(value: Any, usual: str) -> str:
    """What a messageExpression has given, or *usual* where that is no message."""
    text = value.strip() if isinstance(value, str) else ""
    is_right = text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE
    return text if is_right else usual


def placed(expression: str, start: int, message: str) -> str:
    """An error of cel-go at a place of an expression. Upstream: cel-go common/error.go."""
    before = expression[:start]
    line, column = before.count("\n"), start - (before.rfind("\n") + 1)
    shown = expression.split("\n")[line].replace("\t", " ")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {shown}\n | {'.' * column}^"


def place_of(expression: str, name: str) -> int:
    """Where *name* is first written in an expression."""
    last = name.rpartition(".")[2]
    return next((one.start for one in tokens_of(expression) if one.text == last), 0)


@lru_cache(maxsize=1_024)
def _steps(expression: str, elements: int) -> int:
    # A function of Python's is given a copy of its list.
    calls = 1 if _python_functions().isdisjoint(re.findall(r"\w+", expression)) else elements // 8
    return most_steps(expression, elements) * max(calls, 1)


def _syntax_fault(text: str) -> str:
    found = _PLACED.search(text)
    return (found.group() if found else text).replace("\n| ", "\n | ")


@lru_cache(maxsize=1)
def _functions() -> dict[str, Callable[..., Any]]:
    from cel.stdlib import EXTENSIONS

    # An error inside a function reaches the caller, which knows the object.
    logging.getLogger("cel").setLevel(logging.CRITICAL)
    found = {name: one for library in _LIBRARIES for name, one in EXTENSIONS[library].items()}
    return {**found, **FUNCTIONS, **LIST_FUNCTIONS, **METHODS, OPTIONAL: optional_field}


@lru_cache(maxsize=1)
def _python_functions() -> frozenset[str]:
    from cel.stdlib import EXTENSIONS

    found = {name for library in ("lists", "sets") for name in EXTENSIONS[library]}
    return frozenset(("contains", *LIST_FUNCTIONS, *found, "sum", "min", "max")) - {"contains"}


@lru_cache(maxsize=1)
def _known_functions() -> frozenset[str]:
    names = {name.rpartition(".")[2] for name in _functions()} | _BUILT_IN
    return frozenset(names - {name.rpartition(".")[2] for name in _WITHHELD})
