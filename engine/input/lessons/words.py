"""The marks within a paragraph of a lesson, in the form of Markdown's links.

[](@bound)                          the time of the moment "bound", as a button
[then](@bound)                      other words for that button
[claim](?)                          a term, explained by the glossary; [claims](?claim) in its plural
[db-0](pod/default/db-0)            an object
[half-bound](volume/local-1#claim)  an attribute of an object; with @bound at that moment
`spec.claimRef`                     as code
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARK = re.compile(r"\[([^\]\[]*)\]\((\?[^()]*|[^()\s]+)\)|`([^`]+)`")
_SHORT = re.compile(r"\[([^\]\[]*)\]\(\?\)")
_TARGET = re.compile(r"([a-z]+(?:/[^#@/]+){0,2})(?:#(\w+))?(?:@([\w-]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A piece of a paragraph. `kind` is text, code, term, moment, object, or unknown.

    An object may have an `attribute` and a `moment`; without one it is that of the step.
    """

    kind: str
    text: str
    term: str = ""
    object: str = ""
    attribute: str = ""
    moment: str = ""
    # What stands between the brackets of a mark that means nothing.
    target: str = ""


def words_of(paragraph: str) -> Iterator[Words]:
    """The pieces of *paragraph*, in order."""
    end = 0
    for mark in _MARK.finditer(paragraph):
        if mark.start() > end:
            yield Words(kind="text", text=paragraph[end : mark.start()])
        end = mark.end()
        text, target, code = mark.groups()
        yield Words(kind="code", text=code) if code else _marked(text, target)
    if end < len(paragraph):
        yield Words(kind="text", text=paragraph[end:])


def with_targets(paragraph: str) -> str:
    """*paragraph* with the target of each term, so that its words can become those of a language."""
    return _SHORT.sub(lambda mark: f"[{mark[1]}](?{mark[1].lower()})", paragraph)


def marks_of(paragraph: str) -> list[tuple[str, str]]:
    """What *paragraph* marks, sorted: the kind and the target of each mark.

    A paragraph in another language marks the same things, maybe in another order.
    """
    pieces = [words for words in words_of(paragraph) if words.kind != "text"]
    return sorted((words.kind, _target(words)) for words in pieces)


def _target(words: Words) -> str:
    if words.kind == "code":
        return words.text
    parts = (words.term, words.object, words.attribute, words.moment, words.target)
    return " ".join(part for part in parts if part)


def _marked(text: str, target: str) -> Words:
    if target.startswith("?"):
        return Words(kind="term", text=text, term=target[1:] or text.lower())
    if target.startswith("@"):
        return Words(kind="moment", text=text, moment=target[1:])
    found = _TARGET.fullmatch(target)
    if found is None:
        return Words(kind="unknown", text=text, target=target)
    entity, attribute, moment = found.groups(default="")
    return Words(kind="object", text=text, object=entity, attribute=attribute, moment=moment)
