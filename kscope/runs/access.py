"""Runs and scenarios under the rule of access. Pages, the API and sockets get them here."""

from typing import Any

from django.http import Http404

from kscope.accounts.access import Visitor, refuse, visitor_of
from kscope.runs.models import OwnedQuerySet, Run, RunQuerySet, Scenario


def readable_runs(visitor: Visitor) -> RunQuerySet:
    """The runs that the visitor may see, described."""
    return Run.objects.described().readable_by(visitor)


def readable_scenarios(visitor: Visitor) -> OwnedQuerySet:
    """The scenarios that the visitor may see, without their documents."""
    return Scenario.objects.select_related("owner").defer("document").readable_by(visitor)


def found_run(request: Any, run_id: int, *, to_change: bool = False) -> Run:
    """The run with its scenario, if the visitor may see it, and change it where asked for.

    Raises Http404 for a run that is not there or not to be seen, both alike.
    """
    visitor = visitor_of(request)
    run: Run | None = readable_runs(visitor).filter(pk=run_id).first()
    if run is None:
        raise Http404(f"There is no run {run_id}.")
    if to_change and not visitor.may_change(run):
        refuse(visitor, f"change run {run.pk}: it belongs to another account")
    return run


def found_scenario(request: Any, scenario_id: int, *, to_change: bool = False) -> Scenario:
    """The scenario, likewise."""
    visitor = visitor_of(request)
    scenario: Scenario | None = readable_scenarios(visitor).filter(pk=scenario_id).first()
    if scenario is None:
        raise Http404(f"There is no scenario {scenario_id}.")
    if to_change and not visitor.may_change(scenario):
        refuse(visitor, f"change scenario {scenario.pk}: it belongs to another account")
    return scenario
