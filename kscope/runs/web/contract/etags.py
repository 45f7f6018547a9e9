"""Answers that never change: those about an instant that an address names by its seq.

The history of a run up to an event is a pure function of its scenario, profile, seed and commands, so
a short text stands for it: the entity tag. A client that has the answer is told so (304) before
anything is computed. The tag has whatever else the answer depends on: who computed it, for whom,
and in which language.
"""

import hashlib
from typing import Any

from django.db.models import Count, Max
from django.http import HttpRequest
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from engine.cluster.source import fingerprint, package_digest
from kscope.accounts.access import visitor_of
from kscope.runs.access import may_see_values
from kscope.runs.models import Command, Run

# What computes answers, beside the engine.
_PACKAGES = ("kscope", "scheduling", "volumes")
_VARY = ("Authorization", "Cookie", "Accept", "Accept-Language")


class NotModified(Exception):
    """The client has the answer already."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.tag = tag


def tag_of(request: Any, run: Run, seq: int) -> str:
    """The entity tag of the answer to *request*, which is about *run* after event *seq*.

    Raises NotModified where the request says that the client has it.
    """
    parts = (request.get_full_path(), request.headers.get("Accept", ""), translation.get_language())
    visitor = visitor_of(request)
    code = (fingerprint(), *map(package_digest, _PACKAGES))
    known = (*_history(run, seq), may_see_values(visitor, run), *code)
    tag = f'"{hashlib.sha256(repr((*parts, *known)).encode()).hexdigest()[:32]}"'
    if _has(request, tag):
        raise NotModified(tag)
    return tag


def _history(run: Run, seq: int) -> tuple[Any, ...]:
    """What the history up to an event depends on. A database that was set back has other commands."""
    commands = Command.objects.filter(run=run, outcome_seq__lte=seq)
    given = commands.aggregate(number=Count("pk"), newest=Max("pk"))
    return run.pk, run.created, run.cannot_continue_after, given["number"], given["newest"]


def _has(request: HttpRequest, tag: str) -> bool:
    given = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in given or any(each.removeprefix("W/") == tag for each in given)


def mark(response: Any, tag: str) -> None:
    """Give *response* its tag. A program may keep it; browsers are to keep nothing (docs/asvs.md)."""
    response["ETag"] = tag
    patch_vary_headers(response, _VARY)
