"""Hands commands to engines, waits for what becomes of them, and says it in one message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext

from kscope.runs import services
from kscope.runs.admin.links import seconds
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, ProjectedObject, Run
from kscope.words.joining import listed, sentences

# Of many refusals the first ones are told; the list of commands has all.
_MOST_TOLD: Final = 10

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, and why."""

    key: str
    why: str


def submit_one(request: HttpRequest, run: Run, key: str, body: Body) -> Command | None:
    """Give the engine the command, wait for the outcome, and say it.

    None for one that is not valid, and for one that was deleted with its run.
    """
    try:
        command = services.command_submit(run=run, body=body)
        command = services.command_wait(command=command)
    except ApplicationError as problem:
        words = gettext("{name}: {reason}")
        messages.error(request, words.format(name=key, reason=problem.message))
        return None
    _tell_one(request, key, command)
    return command


def is_no_success(command: Command | None) -> bool:
    """Whether a command was refused, by the engine or before. One that still waits may succeed."""
    return command is None or command.status == Command.Status.REJECTED


def submit_many(
    request: HttpRequest,
    action: str | Promise,
    wanted: Sequence[tuple[ProjectedObject, Sequence[Body]]],
) -> None:
    """Give the engines the commands for each object, wait for the outcomes, and say them."""
    if not any(bodies for _, bodies in wanted):
        words = gettext("{action}: there is nothing to do.")
        messages.info(request, words.format(action=action))
        return
    if len(wanted) == 1 and len(wanted[0][1]) == 1:
        ((row, (body,)),) = wanted
        submit_one(request, row.run, row.key, body)
        return
    submitted: list[Command] = []
    # A fault names its object in its own words, so what was chosen names it in the message.
    entities: dict[int, str] = {}
    invalid: list[Refusal] = []
    for _, group in groupby(sorted(wanted, key=_run_of), key=_run_of):
        objects = list(group)
        pairs = [(row.entity, body) for row, each in objects for body in each]
        run = objects[0][0].run
        try:
            given = services.commands_submit(run=run, bodies=[body for _, body in pairs])
        except ApplicationError as problem:
            invalid.append(Refusal(str(run), problem.message))
            continue
        submitted += given
        entities |= {each.pk: entity for each, (entity, _) in zip(given, pairs, strict=True)}
    commands = services.commands_wait(commands=submitted)
    rejected = (each for each in commands if each.status == Command.Status.REJECTED)
    refused = [*invalid, *(Refusal(entities[each.pk], each.reason) for each in rejected)]
    left = {each.pk for each in commands}
    gone = sorted({each.run_id for each in submitted if each.pk not in left})
    _tell_many(request, _sent_words(action, len(submitted), commands), commands, refused, gone)


def _run_of(wanted: tuple[ProjectedObject, Sequence[Body]]) -> int:
    return wanted[0].run_id


def _tell_one(request: HttpRequest, key: str, command: Command) -> None:
    if command.status == Command.Status.APPLIED:
        words = gettext("{key}: command {number} applied at seq {seq}, t = {time}.")
        found = {"seq": command.outcome_seq, "time": seconds(command.at)}
        messages.success(request, words.format(key=key, number=command.pk, **found))
        if command.reason:
            words = gettext("{name}: {reason}")
            messages.warning(request, words.format(name=key, reason=command.reason))
    elif command.status == Command.Status.REJECTED:
        words = gettext("{key}: command {number} rejected: {reason}")
        why = command.reason
        messages.error(request, words.format(key=key, number=command.pk, reason=why))
    else:
        words = gettext(
            "{key}: command {number} is still waiting; no worker has taken the run yet. It stays "
            "queued."
        )
        messages.warning(request, words.format(key=key, number=command.pk))


def _tell_many(
    request: HttpRequest,
    sent: str,
    commands: Sequence[Command],
    refused: Sequence[Refusal],
    gone: Sequence[int],
) -> None:
    """One message: what was *sent*, how many wait, which were refused and why, which runs are gone."""
    waiting = _number(commands, Command.Status.PENDING)
    is_wrong = refused or gone
    level = messages.ERROR if is_wrong else messages.WARNING if waiting else messages.SUCCESS
    told = [sent]
    if waiting:
        told.append(_waiting_words(waiting))
    if refused:
        told.append(_refused_words(refused))
    told += map(services.gone_words, gone)
    messages.add_message(request, level, sentences(*told))


def _number(commands: Iterable[Command], status: str) -> int:
    return sum(each.status == status for each in commands)


def _sent_words(action: str | Promise, number: int, commands: Sequence[Command]) -> str:
    applied = _number(commands, Command.Status.APPLIED)
    words = ngettext(
        "{action}: {number} command was sent, {applied} applied.",
        "{action}: {number} commands were sent, {applied} applied.",
        number,
    )
    return words.format(action=action, number=number, applied=applied)


def _waiting_words(number: int) -> str:
    words = ngettext(
        "{number} is still waiting; it stays queued.",
        "{number} are still waiting; they stay queued.",
        number,
    )
    return words.format(number=number)


def _refused_words(refused: Sequence[Refusal]) -> str:
    each_words = gettext("{key} ({reason})")
    each = [each_words.format(key=one.key, reason=one.why) for one in refused[:_MOST_TOLD]]
    more = len(refused) - len(each)
    if more:
        words = gettext("{number} were refused: {list}, and {more} more.")
        return words.format(number=len(refused), list=listed(each), more=more)
    words = ngettext(
        "{number} was refused: {list}.", "{number} were refused: {list}.", len(refused)
    )
    return words.format(number=len(refused), list=listed(each))
