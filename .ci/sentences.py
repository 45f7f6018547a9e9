#!/usr/bin/env python3
"""Checks that sentences for readers are whole, so that they can be said in any language.

These are the sentences of engine/kernel/sentences.py, wherever they are made.

* A pattern is a literal: tools that collect patterns read the source.
* It neither begins nor ends with a space, nor begins with what closes a sentence.
* Its places stand apart, and no letter touches one; "{kind}s" may end so in a pattern of several.
* What fills a place is no word of ours: neither a literal, nor one of two, nor a text that is put
  together on the spot. Words have a pattern of their own (`say`), and so have all cases of a sentence.

That the fields of answers hold sentences and no other texts, the type checker says (`Sentence`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("engine", "kscope", "scheduling", "volumes", "kube")
# Other packages have functions of their own called `say`.
IMPORT: Final = "from engine.kernel.sentences import"
# The number of patterns that a call begins with.
CALLS: Final = {"say": 1, "phrase": 1, "say_count": 2, "count_phrase": 2}
_ENDS: Final = re.compile(r"\A[\s,;:.)]|\s\Z")
_TOUCHES: Final = re.compile(r"\}\{|[A-Za-z]\{|\}(?=[A-Za-z])")
_PLURAL: Final = re.compile(r"\}s\b")
_WORDS: Final = re.compile(r"[a-z]{2,}")
_METHODS: Final = ("join", "format", "lower", "upper", "capitalize", "title")


def main() -> int:
    """Print each offender; 1 if there is one."""
    found = [
        f"{path.relative_to(ROOT)}:{fault}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if IMPORT in (source := path.read_text())
        for fault in faults(source)
    ]
    print("\n".join(found) or "The sentences are whole.")
    return 1 if found else 0


def faults(source: str) -> Iterator[str]:
    """What is wrong with the sentences of a module, each with its line."""
    tree = ast.parse(source)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CALLS:
            for place, given in enumerate(call.args[: CALLS[call.func.id]]):
                for fault in pattern_faults(given, is_plural=place == 1):
                    yield f"{call.lineno}: {fault}"
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _argument_faults(function)


def pattern_faults(given: ast.expr, *, is_plural: bool = False) -> Iterator[str]:
    """What is wrong with a pattern."""
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        yield f"the pattern {ast.unparse(given)} is no literal"
        return
    pattern = given.value
    if _ENDS.search(pattern):
        yield f"{pattern!r} is a part of a sentence"
    if _TOUCHES.search(_PLURAL.sub("}", pattern) if is_plural else pattern):
        yield f"{pattern!r} has a place that is glued to its neighbour"


def _argument_faults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    texts = _texts_of(function)
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and _says(call.func)):
            continue
        for keyword in call.keywords:
            value = keyword.value
            given = texts.get(value.id, []) if isinstance(value, ast.Name) else [value]
            if any(map(is_of_words, given)):
                yield f"{call.lineno}: the place {keyword.arg} is filled with words of ours"


def _says(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in ("say", "say_count")
    return isinstance(function, ast.Attribute) and function.attr == "say"


def _texts_of(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What is assigned to the names of a function."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                found.setdefault(target.id, []).append(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=True):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(value)
    return found


def is_of_words(value: ast.expr) -> bool:
    """Whether an expression is a text of ours, or put together of some."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and _WORDS.match(value.value) is not None
    if isinstance(value, ast.IfExp):
        return is_of_words(value.body) or is_of_words(value.orelse)
    if isinstance(value, ast.BinOp):
        return is_of_words(value.left) or is_of_words(value.right)
    if isinstance(value, ast.JoinedStr):
        literals = [str(each.value) for each in value.values if isinstance(each, ast.Constant)]
        return any(re.search(r"(?:\A|\s)[a-z]{4,}(?:\s|\Z)", each) for each in literals)
    is_method = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    return is_method and value.func.attr in _METHODS


if __name__ == "__main__":
    sys.exit(main())
