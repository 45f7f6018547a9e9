"""The run that a lesson is about: made once for an installation, and played to its end."""

from django.db import transaction

from engine.cluster.source import fingerprint
from engine.input.lessons.lesson import LessonRun
from kscope.runs import services
from kscope.runs.models import Run, Scenario


def kept_run(scenario: Scenario, wanted: LessonRun) -> Run | None:
    """The run of the scenario that lessons and concepts are told of: nobody's commands have changed it."""
    header = scenario.header
    found = Run.described().filter(
        scenario_id=scenario.pk,
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


def kept_run_made(scenario: Scenario, wanted: LessonRun) -> Run:
    """The same; one is made, and plays, if there is none. Raises ApplicationError as run_create does."""
    with transaction.atomic():
        # Two readers may open the first lesson at once.
        Scenario.objects.select_for_update().only("pk").get(pk=scenario.pk)
        found = kept_run(scenario, wanted)
        if found is not None:
            return found
        run = services.run_create(
            scenario=scenario,
            owner_id=scenario.owner_id,
            profile=wanted.profile,
            seed=wanted.seed,
            play=True,
            speed=Run.Speed.MAX,
            is_of_lessons=True,
        )
        run.visibility, run.kept = scenario.visibility, True
        run.save(update_fields=["visibility", "kept"])
        return run


def _seed(wanted: LessonRun, default: int | None) -> int:
    return (default or 0) if wanted.seed is None else wanted.seed
