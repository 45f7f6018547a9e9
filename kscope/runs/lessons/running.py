"""The run that a lesson is about: made once for an installation, and played to its end."""

from django.db import transaction

from engine.cluster.source import fingerprint
from engine.input.lessons.lesson import Lesson as Told
from engine.input.lessons.lesson import LessonRun
from kscope.runs import services
from kscope.runs.models import Lesson, Run, Scenario


def lesson_run(lesson: Lesson) -> Run | None:
    """The run that the lesson is told of, if there is one: nobody's commands have changed it."""
    wanted = Told.from_document(lesson.document).run
    header = lesson.scenario.header
    found = Run.described().filter(
        scenario_id=lesson.scenario_id,
        is_of_lessons=True,
        parent=None,
        head_commands=0,
        # What another version of the engine has written may be another history.
        engine_digest__in=("", fingerprint()),
        seed=_seed(wanted, header.get("seed")),
    )
    profile = wanted.profile or header.get("profile")
    runs = found.filter(profile=profile) if profile else found
    return runs.exclude(status=Run.Status.FAILED).order_by("id").first()


def lesson_run_made(lesson: Lesson) -> Run:
    """The same; one is made, and plays, if there is none. Raises ApplicationError as run_create does."""
    with transaction.atomic():
        # Two readers may open the first lesson at once.
        Scenario.objects.select_for_update().only("pk").get(pk=lesson.scenario_id)
        found = lesson_run(lesson)
        if found is not None:
            return found
        wanted = Told.from_document(lesson.document).run
        run = services.run_create(
            scenario=lesson.scenario,
            owner_id=lesson.scenario.owner_id,
            profile=wanted.profile,
            seed=wanted.seed,
            play=True,
            speed=Run.Speed.MAX,
            is_of_lessons=True,
        )
        run.visibility, run.kept = lesson.scenario.visibility, True
        run.save(update_fields=["visibility", "kept"])
        return run


def _seed(wanted: LessonRun, default: int | None) -> int:
    return (default or 0) if wanted.seed is None else wanted.seed
