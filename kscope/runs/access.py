"""Runs and scenarios that a visitor may read or change, for pages, the API and sockets."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from kscope.accounts.access import Visitor, refuse, visitor_of
from kscope.runs.models import Run, Scenario


def readable_runs(visitor: Visitor) -> QuerySet[Run]:
    """The runs that the visitor may see; see `Run.described`."""
    return Run.described().filter(visitor.readable())


def readable_scenarios(visitor: Visitor) -> QuerySet[Scenario]:
    """The scenarios that the visitor may see, without their documents."""
    readable = Scenario.objects.filter(visitor.readable())
    return readable.select_related("owner").defer("document")


def found_run(request: Any, run_id: int, *, to_change: bool = False) -> Run:
    """The run with its scenario, if the visitor may see it (and change it, for *to_change*).

    Raises the same Http404 for a run that does not exist and for one that may not be seen.
    """
    visitor = visitor_of(request)
    return _found(readable_runs(visitor), "run", run_id, visitor, to_change)


def found_scenario(request: Any, scenario_id: int, *, to_change: bool = False) -> Scenario:
    """The scenario, under the same conditions as `found_run`."""
    visitor = visitor_of(request)
    return _found(readable_scenarios(visitor), "scenario", scenario_id, visitor, to_change)


def _found(readable: Any, kind: str, key: int, visitor: Visitor, to_change: bool) -> Any:
    found = readable.filter(pk=key).first()
    if found is None:
        raise Http404(f"There is no {kind} {key}.")
    if to_change and not visitor.may_change(found):
        refuse(visitor, f"change {kind} {key}: it belongs to another account")
    return found
