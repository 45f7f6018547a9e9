"""Runs and scenarios that a visitor may read or change, for pages, the API and sockets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext_lazy

from kscope.accounts.access import Visitor, refuse, visitor_of
from kscope.runs.models import Run, Scenario


def readable_runs(visitor: Visitor) -> QuerySet[Run]:
    """The runs that the visitor may see; see `Run.described`."""
    return Run.described().filter(visitor.readable())


def readable_scenarios(visitor: Visitor) -> QuerySet[Scenario]:
    """The scenarios that the visitor may see, without the parts of these that can be large."""
    readable = Scenario.objects.filter(visitor.readable())
    return readable.select_related("owner").defer("report")


def found_run(
    request: Any, run_id: int, *, to_change: bool = False, with_worker: bool = False
) -> Run:
    """The run with its scenario, if the visitor may see it (and change it, for *to_change*).

    *with_worker* is for who only shows it: see `Run.with_worker`.
    Raises the same Http404 for a run that does not exist and for one that may not be seen.
    """
    visitor = visitor_of(request)
    readable = readable_runs(visitor)
    runs = Run.with_worker(readable) if with_worker else readable
    return _found(runs, _RUN, run_id, visitor, to_change)


def found_scenario(request: Any, scenario_id: int, *, to_change: bool = False) -> Scenario:
    """The scenario, under the same conditions as `found_run`."""
    visitor = visitor_of(request)
    return _found(readable_scenarios(visitor), _SCENARIO, scenario_id, visitor, to_change)


# SQL for the owners of what a run of the table runs_run is made of: its parents, also those that are
# gone, and its scenario.
# Demos are nobody's.
SOURCES = """ARRAY(
    WITH RECURSIVE line AS (
        SELECT id, parent_id, owner_id FROM runs_run AS one WHERE one.id = runs_run.parent_id
        UNION ALL
        SELECT one.id, one.parent_id, one.owner_id
        FROM runs_run AS one JOIN line ON one.id = line.parent_id
    )
    SELECT owner_id FROM line
    UNION ALL
    SELECT owner FROM runs_historypart AS part WHERE part.run_id = runs_run.id
    UNION ALL
    SELECT owner_id FROM runs_scenario
    WHERE runs_scenario.id = runs_run.scenario_id AND NOT is_demo
)"""


def may_see_values(visitor: Visitor, run: Run, sources: Sequence[int | None] | None = None) -> bool:
    """Whether the visitor is shown what may be secret in the run; see `hidden_values`.

    They may change the run, and all that it is made of is theirs: otherwise a reader would fork a
    run, or start one of a shared scenario, and be shown it there. *sources* are the owners, if they
    are known.
    """
    if not visitor.may_change(run) or visitor.is_admin:
        return visitor.may_change(run)
    return all(map(visitor.owns_of, _sources_of(run) if sources is None else sources))


def _sources_of(run: Run) -> Sequence[int | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {SOURCES} FROM runs_run WHERE id = %s", [run.pk])
        row = cursor.fetchone()
    return row[0] if row else ()


@dataclass(frozen=True, slots=True)
class _Words:
    """Why somebody does not get a thing, with a place for its `number`."""

    absent: Any
    belongs_to_another: Any


_RUN = _Words(
    gettext_lazy("There is no run {number}."),
    gettext_lazy("Your account may not change run {number}: it belongs to another account."),
)
_SCENARIO = _Words(
    gettext_lazy("There is no scenario {number}."),
    gettext_lazy("Your account may not change scenario {number}: it belongs to another account."),
)


def _found(readable: Any, words: _Words, key: int, visitor: Visitor, to_change: bool) -> Any:
    found = readable.filter(pk=key).first()
    if found is None:
        raise Http404(words.absent.format(number=key))
    if to_change and not visitor.may_change(found):
        refuse(visitor, words.belongs_to_another.format(number=key))
    return found
