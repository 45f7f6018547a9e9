"""The home page, the list of runs, and the gallery of stories. The live parts are drawn by static/js."""

from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from engine.input.lessons.lesson import LessonRun
from kscope.accounts.access import Visibility, visitor_of
from kscope.runs.access import readable_runs, readable_scenarios
from kscope.runs.lessons.running import kept_run_made
from kscope.runs.lessons.telling import courses, readable_lessons
from kscope.runs.models import Run, Scenario, Story
from kscope.runs.stories.gallery import cards, found, story_of, topics
from kscope.runs.stories.trees import in_tree_order
from kscope.runs.triages import with_stuck
from kscope.runs.web.views import first_page, live_page

SHOWN_RUNS = 20
TREE_RUNS = 200
MOST_DIGITS = 18  # of a number of the database
OWN_RUNS = 5
HOME_STORIES = 10
PEEKS = 3


@live_page
def home(request: HttpRequest) -> HttpResponse:
    """What kscope is, in one picture; three ways in; one's own runs; the first stories."""
    if not {"whose", "runs"}.isdisjoint(request.GET):
        # The list of runs was here.
        return redirect(f"{reverse('runs')}?{request.GET.urlencode()}")
    visitor = visitor_of(request)
    stories = cards(visitor)
    own = with_stuck(readable_runs(visitor).filter(visitor.owned(), is_of_lessons=False))
    context = {
        "living": stories[0] if stories else None,
        "peeks": stories[:PEEKS],
        "courses": [
            {
                "name": course,
                "lessons": lessons,
                "minutes": sum(lesson["minutes"] for lesson in lessons),
            }
            for course, lessons in courses(readable_lessons(request)).items()
        ],
        "runs": own[:OWN_RUNS],
        "own_count": own.count(),
        "stories": stories[:HOME_STORIES],
        "story_count": len(stories),
        "topics": topics(stories),
    }
    return render(request, "stories/home.html", context)


@live_page
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, and the clusters and scenarios that were brought."""
    visitor = visitor_of(request)
    whose = request.GET.get("whose", "all")
    listed = with_stuck(readable_runs(visitor).filter(is_of_lessons=False))
    if whose == "mine":
        listed = listed.filter(visitor.owned())
    elif whose == "others":
        listed = listed.exclude(visitor.owned())
    scenario_id = request.GET.get("scenario", "")
    is_tree = scenario_id.isdecimal() and len(scenario_id) <= MOST_DIGITS
    if is_tree:
        listed = listed.filter(scenario_id=int(scenario_id))
    shown = None if request.GET.get("runs") == "all" else (TREE_RUNS if is_tree else SHOWN_RUNS)
    forks = Run.objects.filter(visitor.readable(), parent=OuterRef("pk"))
    page = list(listed.annotate(has_forks=Exists(forks))[:shown])
    uploads = _uploads(request)
    context = {
        "rows": in_tree_order(page) if is_tree else [(run, range(0)) for run in page],
        "tree_of": page[0].scenario if is_tree and page else None,
        "query": urlencode({"scenario": scenario_id} if is_tree else {"whose": whose}),
        "deletable": [each.pk for each in page if visitor.may_change(each)],
        "older_runs": 0 if shown is None else max(0, listed.count() - shown),
        "whose": whose,
        "scenarios": uploads,
        "changeable": [each.pk for each in uploads if visitor.may_change(each)],
        "visibilities": Visibility.values,
    }
    return render(request, "stories/runs.html", context)


def _uploads(request: HttpRequest) -> list[Scenario]:
    readable = readable_scenarios(visitor_of(request))
    return list(readable.filter(is_of_lessons=False, is_demo=False))


@live_page
def stories(request: HttpRequest) -> HttpResponse:
    """All stories, or those of a topic, or those that words or a pasted message find."""
    known = cards(visitor_of(request))
    text, topic = request.GET.get("q", ""), request.GET.get("topic", "")
    matching = found(known, text)
    context = {
        "stories": [card for card in matching if topic in ("", card.topic)],
        "topics": topics(matching),
        "story_count": len(matching),
        "text": text,
        "topic": topic,
    }
    return render(request, "stories/stories.html", context)


@require_GET
def story(request: HttpRequest, slug: str) -> HttpResponse:
    """Go to the recorded run of a demo, once it has been played; `?pod=NS/NAME&seq=N` is a place in it.

    kscope makes the run, once, so that visitors see it who may make none.
    """
    demo = _story(request, slug).scenario
    run = kept_run_made(demo, LessonRun(scenario=slug))
    if run.status != Run.Status.FINISHED:
        return render(request, "stories/computing.html", {"scenario": demo, "run": run})
    return redirect(_place(request, run))


def _place(request: HttpRequest, run: Run) -> str:
    pod, seq = request.GET.get("pod", ""), request.GET.get("seq", "")
    if pod.count("/") != 1 or not all(pod.split("/")):
        return first_page(run)
    query = f"?{urlencode({'seq': seq})}" if seq.isdecimal() else ""
    return f"/runs/{run.pk}/pods/{pod}/{query}"


@require_GET
def replay(request: HttpRequest, slug: str) -> HttpResponse:
    """The run of a demo in motion, for the picture of the home page."""
    told = _story(request, slug)
    replayed = Story.objects.values_list("replay", flat=True).get(pk=told.pk)
    return JsonResponse(replayed, json_dumps_params={"separators": (",", ":")})


def _story(request: HttpRequest, slug: str) -> Story:
    """Raises Http404 for a story that there is not, and for one that may not be seen."""
    known = story_of(visitor_of(request), slug)
    if known is None:
        raise Http404(gettext("There is no story {name}.").format(name=slug))
    return known
