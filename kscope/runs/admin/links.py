"""What the pages of the admin say of times, and where their links lead:

object ──▶ its commands, its events
command ──▶ its object, its event and those that follow
event ──▶ its object, its cause, the command that it is of
"""

from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from kscope.runs.app_registry import registry
from kscope.runs.models import Command, EventRecord, Run

# So many events are shown behind that of a command.
_FOLLOWING: Final = 50
# So many digits are a number that the database can hold.
_MOST_DIGITS: Final = 18
# What has no row: a replica of a scheduler, the run itself.
_WITHOUT_ROW: Final = ("scheduler", "run")


def seconds(nanoseconds: int | None) -> str:
    """Virtual time as the pages write it."""
    if nanoseconds is None:
        return ""
    return gettext("{seconds} s").format(seconds=f"{nanoseconds / 1e9:.3f}")


def as_of_words(run: Run) -> str:
    """Of which event the rows of a run's objects are, where that is not its newest; else ""."""
    if run.rows_seq is None:
        return ""
    words = gettext(
        "The objects of {run} are shown as of event {seq}; the run is at event {head}. They follow "
        "when it pauses, and while somebody reads them."
    )
    return words.format(run=run, seq=max(run.rows_seq, 0), head=run.head_seq)


def is_number(text: str) -> bool:
    """Whether a part of an address can be the number of a row."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def list_address(model: Any, **filters: Any) -> str:
    """The list of a table, with filters by field."""
    meta = model._meta
    address = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{address}?{urlencode(filters)}"


def object_address(run_id: int, entity: str) -> str:
    """Where an object is found; the list is empty when there is none any more. "" for no object."""
    prefix, _, name = entity.partition("/")
    if not name or prefix in _WITHOUT_ROW:
        return ""
    model, key = registry.place_of(entity)
    return list_address(model, run__id__exact=run_id, key=key)


def object_link(run_id: int, entity: str) -> str:
    """A link to the object, which it names."""
    return _link(object_address(run_id, entity), entity)


def event_link(run_id: int, seq: int | None) -> str:
    """A link to an event by its seq; "" for none."""
    return "" if seq is None else _link(event_address(run_id, seq), str(seq))


def command_link(command: Command) -> str:
    """A link to a command, which it names."""
    return _link(reverse("admin:runs_command_change", args=(command.pk,)), str(command))


def event_address(run_id: int, seq: int) -> str:
    """The page of an event."""
    return reverse("admin:runs_eventrecord_change", args=(f"{run_id}-{seq}",))


def events_of(run_id: int, entity: str) -> str:
    """The list of the events about an object."""
    return list_address(EventRecord, run__id__exact=run_id, object=entity)


def commands_of(run_id: int, entity: str) -> str:
    """The list of the commands about an object."""
    return list_address(Command, run__id__exact=run_id, object=entity)


def following_link(command: Command) -> str:
    """A link to the events from that of a command on; "" while it has none."""
    first = command.outcome_seq
    if first is None:
        return ""
    span = {"seq__gte": first, "seq__lt": first + _FOLLOWING}
    address = list_address(EventRecord, run__id__exact=command.run_id, **span)
    words = gettext("from {seq} on")
    return _link(address, words.format(seq=first))


def _link(address: str, text: str) -> str:
    return format_html('<a href="{}">{}</a>', address, text) if address else text
