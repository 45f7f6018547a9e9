"""The pages of concepts."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from engine.input.lessons.lesson import LessonRun
from kscope.accounts.access import visitor_of
from kscope.concepts.table import Instant, Seen, sections
from kscope.runs.access import readable_scenarios
from kscope.runs.lessons.running import kept_run_made
from kscope.runs.models import Run, RunEvent


@require_GET
def concepts(request: HttpRequest) -> HttpResponse:
    """All concepts, by subject."""
    return render(request, "concepts/concepts.html", {"sections": sections()})


@require_GET
def concept(request: HttpRequest, anchor: str) -> HttpResponse:
    """Go to the page and the instant that show a concept, once its run has been played.

    kscope makes the run, once, so that visitors see it who may make none. Where the demo is not
    there, it is the list. Raises Http404 for a concept that there is not, or that no run shows.
    """
    found = next(
        (one for each in sections() for one in each.concepts if one.anchor == anchor), None
    )
    if found is None or found.seen is None:
        raise Http404(gettext("No run shows {concept}.").format(concept=anchor))
    demos = readable_scenarios(visitor_of(request)).filter(is_demo=True)
    demo = demos.filter(header__name=found.seen.demo).first()
    if demo is None:
        return redirect(f"/concepts/#{anchor}")
    run = kept_run_made(demo, LessonRun(scenario=found.seen.demo, profile=found.seen.version))
    if run.status != Run.Status.FINISHED:
        return render(request, "concepts/computing.html", {"concept": found})
    return redirect(_address(run, found.seen))


def _address(run: Run, seen: Seen) -> str:
    address = f"/runs/{run.pk}/{seen.page}"
    if seen.after is None:
        return address
    return f"{address}{'&' if '?' in address else '?'}seq={seq_of(run, seen.after)}"


def seq_of(run: Run, instant: Instant) -> int:
    """The number of the event after which something is seen."""
    events = RunEvent.objects.filter(run_id=run.pk, kind=instant.kind).order_by("seq")
    if instant.object:
        events = events.filter(object=instant.object)
    return events.values_list("seq", flat=True)[instant.which - 1]
