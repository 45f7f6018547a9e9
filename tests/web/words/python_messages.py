"""Reads calls of Python: which of them speak to users, and in words of no catalogue.

An expression speaks in no catalogue when a text with letters is in it that gettext was not given:
as it stands, in an f-string, in a sum, in the branch of a choice, in what a name was set to, or in
what a function of the same module returns. Values of named places, which `.format` fills in, are
not looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

GETTEXT = frozenset(
    {"gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext"}
)
# Whatever people are told goes through one of these; the place of the words among the arguments.
SPOKEN = {
    **dict.fromkeys(("ApplicationError", "ValidationError", "PermissionDenied", "Http404"), 0),
    **dict.fromkeys(("NotAuthenticated", "AuthenticationFailed", "NotFound", "ParseError"), 0),
    **dict.fromkeys(("success", "error", "info", "warning"), 1),
    **dict.fromkeys(("refuse", "refused"), 1),
}
# These take their words by name.
_BY_NAME = {"Remark": "message", "Problem": "message"}
# Of forms, models and columns of the admin.
LABELS = ("label", "help_text", "description", "verbose_name", "verbose_name_plural")
_FORMS = ("forms", "models", "admin")
# Of answers in JSON.
_KEY = "message"
# The type of a column is called so, and a library.
_NAMES = ("text", "zlib")
_SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|LISTEN|interval|clock_timestamp)\b|::|%s")
_WORD = re.compile(r"(?<![\w/<=.-])[a-z]{2,}(?![\w/=.-])")
# These put whole texts together; their arguments are the texts.
_JOINING = ("sentences", "listed", "str", "format_html")


@dataclass
class Module:
    """One file, with what its names are set to."""

    path: Path
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, text: str) -> Module:
        """The module with that text."""
        tree = ast.parse(text)
        functions = {
            each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)
        }
        return cls(path, tree, functions)

    def faults(self) -> list[str]:
        """What is said in words of no catalogue, each with its line."""
        return [*self._bad_messages(), *self._unspoken()]

    def glued(self) -> list[str]:
        """F-strings with two words or more, each with its line: sentences in no catalogue.

        Logs, assertions and errors that no user sees may have them, and so may SQL.
        """
        unseen = {
            id(one) for each in ast.walk(self.tree) if _is_unseen(each) for one in ast.walk(each)
        }
        return [
            f"{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(self.tree)
            if isinstance(node, ast.JoinedStr) and id(node) not in unseen and _is_sentence(node)
        ]

    def _bad_messages(self) -> Iterator[str]:
        """Calls of gettext on anything else than a text that stands there."""
        for call in _calls(self.tree):
            name = _name(call.func)
            if name not in GETTEXT:
                continue
            count = 2 if name.startswith("ngettext") or name == "pgettext" else 1
            for given in call.args[:count]:
                if not isinstance(given, ast.Constant):
                    yield f"{call.lineno}: {name} is given {ast.unparse(given)}"

    def _unspoken(self) -> Iterator[str]:
        for scope, call in _scoped_calls(self.tree):
            for words in _words_of(call):
                if self._is_bare(words, scope, frozenset()):
                    yield f"{call.lineno}: {_name(call.func)} says {ast.unparse(words)}"
        for scope, pair in _messages(self.tree):
            if self._is_bare(pair, scope, frozenset()):
                yield f"{pair.lineno}: a message is {ast.unparse(pair)}"

    def _is_bare(self, words: ast.expr, scope: ast.AST, seen: frozenset[str]) -> bool:
        """Whether *words*, which stand in *scope*, are in no catalogue."""

        def any_of(parts: list[ast.expr]) -> bool:
            return any(self._is_bare(part, scope, seen) for part in parts)

        match words:
            case ast.Constant(value=str(text)):
                return _has_letters(text)
            case ast.JoinedStr(values=parts):
                return any_of(parts)
            case ast.FormattedValue(value=value):
                return not isinstance(value, ast.Name) and any_of([value])
            case ast.BinOp(left=left, right=right):
                return any_of([left, right])
            case ast.IfExp(body=body, orelse=other):
                return any_of([body, other])
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return any_of(parts)
            case ast.Dict(values=parts):
                return any_of(parts)
            case ast.Subscript(value=value):
                return any_of([value])
            case ast.Call():
                return self._is_bare_call(words, scope, seen)
            case ast.Name(id=name) if name not in seen:
                found = _set_to(name, ast.walk(scope)) or _set_to(name, self.tree.body)
                return any(self._is_bare(one, scope, seen | {name}) for one in found)
        return False

    def _is_bare_call(self, call: ast.Call, scope: ast.AST, seen: frozenset[str]) -> bool:
        name = _name(call.func)
        if name in GETTEXT:
            return False
        if name == "format" and isinstance(call.func, ast.Attribute):
            return self._is_bare(call.func.value, scope, seen)
        if name == "format_lazy":
            return self._is_bare(call.args[0], scope, seen)
        if name in _JOINING:
            return any(self._is_bare(one, scope, seen) for one in call.args)
        if isinstance(call.func, ast.Name) and name in self.functions and name not in seen:
            function = self.functions[name]
            returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
            return any(one and self._is_bare(one, function, seen | {name}) for one in returned)
        return False


def _words_of(call: ast.Call) -> Iterator[ast.expr]:
    """What a call says to people; nothing for one that speaks to nobody."""
    name = _name(call.func)
    place = SPOKEN.get(name)
    is_logged = isinstance(call.func, ast.Attribute) and _name(call.func.value) in (
        "log",
        "logging",
    )
    if place is not None and not is_logged and len(call.args) > place:
        yield call.args[place]
    yield from (one.value for one in call.keywords if one.arg == _BY_NAME.get(name, ""))
    if isinstance(call.func, ast.Attribute) and _name(call.func.value) in _FORMS:
        for keyword in call.keywords:
            if keyword.arg in LABELS:
                yield keyword.value


def _is_unseen(node: ast.AST) -> bool:
    """Whether what stands in *node* is for people who run kscope, or for nobody."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and _name(node.exc.func) not in SPOKEN
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _name(node.func.value) in ("log", "logging", "cursor")
    return isinstance(node, ast.Assert)


def _is_sentence(text: ast.JoinedStr) -> bool:
    parts = [str(one.value) for one in text.values if isinstance(one, ast.Constant)]
    return not _SQL.search(" ".join(parts)) and len(_WORD.findall(" ".join(parts))) > 1


def _messages(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The values of "message" in every mapping that is written out."""
    for scope, node in _scoped(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == _KEY:
                    yield scope, value


def _scoped(node: ast.AST, scope: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """All nodes, each with the function that it stands in."""
    scope = scope or node
    for child in ast.iter_child_nodes(node):
        yield scope, child
        inner = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else scope
        yield from _scoped(child, inner)


def _scoped_calls(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.Call]]:
    for scope, node in _scoped(tree):
        if isinstance(node, ast.Call):
            yield scope, node


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _set_to(name: str, nodes: Iterable[ast.AST]) -> list[ast.expr]:
    """What a name is set to in these statements."""
    found: list[ast.expr] = []
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            found += _paired(name, target, node.value)  # type: ignore[attr-defined]
    return found


def _paired(name: str, target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _paired(name, one, other)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _has_letters(text: str) -> bool:
    """Whether there are words in it; a form such as NAMESPACE/NAME, or a name, is the same everywhere."""
    return text not in _NAMES and any(letter.islower() for letter in text)
