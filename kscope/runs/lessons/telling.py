"""A lesson as its page draws it: texts in pieces, and the instants of the run that it is about."""

from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext

from engine.input.lessons.holding import Fault, History, faults_of, moments_of
from engine.input.lessons.lesson import Ask, LessonStep
from engine.input.lessons.lesson import Lesson as Told
from engine.input.lessons.words import marks_of, words_of
from engine.input.load_result import LoadedLesson, Origin, Problem
from engine.kernel.recorder import Event
from kscope.accounts.access import visitor_of
from kscope.documents.language import in_language
from kscope.glossary import sentence_of
from kscope.runs.access import readable_scenarios
from kscope.runs.lessons.running import kept_run
from kscope.runs.models import Lesson, Run, RunEvent


def readable_lessons(request: Any) -> QuerySet[Lesson]:
    """The lessons about scenarios that the visitor may see, in their order."""
    scenarios = readable_scenarios(visitor_of(request)).values("pk")
    readable = Lesson.objects.filter(scenario__in=scenarios)
    return readable.select_related("scenario").defer("scenario__report")


def found_lesson(request: Any, slug: str) -> Lesson:
    """The lesson of that address. Raises Http404 also for one that may not be seen."""
    found = readable_lessons(request).filter(slug=slug).first()
    if found is None:
        raise Http404(gettext("There is no lesson {slug}.").format(slug=slug))
    return found


def slug_after(request: Any, slug: str) -> str:
    """The address of the lesson after that one; empty after the last."""
    slugs = list(readable_lessons(request).values_list("slug", flat=True))
    following = slugs[slugs.index(slug) + 1 :] if slug in slugs else []
    return following[0] if following else ""


def courses(lessons: Iterable[Lesson]) -> dict[str, list[dict[str, Any]]]:
    """By course, what a list shows of each lesson."""
    found: dict[str, list[dict[str, Any]]] = {}
    for lesson in lessons:
        told = listed(lesson)
        found.setdefault(told["course"], []).append(told)
    return found


def listed(lesson: Lesson) -> dict[str, Any]:
    """What a list shows of a lesson."""
    return _listed(lesson, told_of(lesson))


def told_of(lesson: Lesson) -> Told:
    """The lesson in the reader's language; what no catalogue has is as it was written."""
    told = Told.from_document(lesson.document)
    return told.with_texts(lambda _, text: _translated(text))


def _translated(text: str) -> str:
    """*text* in the reader's language; as it is written where that marks other things than it does."""
    found = in_language(text)
    return found if marks_of(found) == marks_of(text) else text


def _listed(lesson: Lesson, told: Told) -> dict[str, Any]:
    return {
        "slug": lesson.slug,
        "course": told.course,
        "title": told.title,
        "teaches": told.teaches,
        "steps": len(told.steps),
        "questions": sum(step.ask is not None for step in told.steps),
        "minutes": told.minutes,
        "scenario": lesson.scenario.name,
        "is_shipped": lesson.is_shipped,
    }


def whole(lesson: Lesson, told: Told) -> dict[str, Any]:
    """The lesson as its page draws it, with the texts of *told*.

    `run` is None until there is one; `moments` (name → seq and time) and `problems` are None until
    that run is finished.
    """
    run = kept_run(lesson.scenario, told.run)
    is_there = run is not None and run.status == Run.Status.FINISHED
    seqs, problems = _in_run(lesson.pk, run.pk, run.head_seq) if is_there and run else ({}, ())
    return {
        **_listed(lesson, told),
        "told": [_step(step, told) for step in told.steps],
        "run": run.pk if run is not None else None,
        "moments": seqs if is_there else None,
        "problems": [str(each) for each in problems] if is_there else None,
    }


@lru_cache(maxsize=256)
def _in_run(
    lesson_id: int, run_id: int, head: int
) -> tuple[dict[str, dict[str, int]], tuple[Problem, ...]]:
    """The instants of a lesson in a finished run, and what the run does not bear out.

    *head* is its newest event: a run that went on is looked at again.
    """
    lesson = Lesson.objects.get(pk=lesson_id)
    told = Told.from_document(lesson.document)
    stored = RunEvent.objects.filter(run_id=run_id, seq__lte=head).order_by("seq")
    events = [Event(*row) for row in stored.values_list(*Event._fields)]
    times = {event.seq: event.at for event in events}
    moments = {
        name: {"seq": seq, "at": times[seq]} for name, seq in moments_of(told, events).items()
    }
    faults = faults_of(told, History(events, None))
    return moments, tuple(_problem(lesson, fault) for fault in faults)


def _problem(lesson: Lesson, fault: Fault) -> Problem:
    origin = Origin(lesson.file, lesson.number, lesson.line)
    loaded = LoadedLesson(lesson.document, origin, lesson.lines)
    return loaded.problem(fault.path, fault.value, fault.message)


def _step(step: LessonStep, told: Told) -> dict[str, Any]:
    return {
        "title": step.title,
        "at": step.at,
        "select": step.select,
        "page": step.page,
        "text": [_pieces(each, told) for each in step.text],
        "ask": _ask(step.ask, step.at, told) if step.ask is not None else None,
    }


def _ask(ask: Ask, at: str, told: Told) -> dict[str, Any]:
    return {
        "question": _pieces(ask.question, told),
        "then": ask.then or at,
        "because": _pieces(ask.because, told),
        "options": [
            {
                "text": _pieces(option.text, told),
                "entity": option.entity,
                "right": option.right,
                "why": _pieces(option.why, told),
            }
            for option in ask.options
        ],
    }


def _pieces(text: str, told: Told) -> list[dict[str, str]]:
    """The pieces of a text, without what is empty; a term has its sentence."""
    found: list[dict[str, str]] = []
    for words in words_of(text):
        piece = {name: value for name, value in asdict(words).items() if value}
        if words.kind == "term":
            piece["means"] = told.terms.get(words.term.lower()) or sentence_of(words.term)
        found.append(piece)
    return found
