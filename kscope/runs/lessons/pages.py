"""The pages of lessons. The live parts are drawn by static/js."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from kscope.runs.errors import ApplicationError
from kscope.runs.lessons.running import kept_run_made
from kscope.runs.lessons.telling import (
    courses,
    found_lesson,
    readable_lessons,
    slug_after,
    told_of,
    whole,
)
from kscope.runs.web.views import live_page


@require_GET
def lessons(request: HttpRequest) -> HttpResponse:
    """The courses and their lessons."""
    return render(request, "lessons/lessons.html", {"courses": courses(readable_lessons(request))})


@live_page
def lesson(request: HttpRequest, slug: str) -> HttpResponse:
    """One lesson: the text beside its run.

    Whoever may read it finds its run, also those who may make none: kscope makes it, once.
    """
    found = found_lesson(request, slug)
    told = told_of(found)
    refusal = ""
    try:
        kept_run_made(found.scenario, told.run)
    except ApplicationError as error:
        refusal = error.message
    context = {
        "lesson": {**whole(found, told), "refusal": refusal},
        "after": slug_after(request, slug),
    }
    return render(request, "lessons/lesson.html", context)
