"""Load the demo scenarios of scenarios/; what is there already, unchanged, stays as it is."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.models import Scenario

ORDER = (
    "checkout-surge",
    "sick-cluster",
    "zone-mismatch",
    "zone-mismatch-unchecked",
    "local-volumes",
    "smallest-fit",
    "fits-nowhere",
)


class Command(BaseCommand):
    help = "Load the demo scenarios."

    def handle(self, *args: Any, **options: Any) -> None:
        """Store each file; demos whose file is gone stop being demos."""
        kept: list[int] = []
        for path in sorted((settings.BASE_DIR / "scenarios").glob("*.yaml")):
            files = [(path.name, path.read_bytes())]
            result = load_files(files, check=check_setup)
            if not result.ok:
                raise CommandError("\n".join(str(problem) for problem in result.problems))
            position = ORDER.index(path.stem) if path.stem in ORDER else len(ORDER)
            scenario = services.scenario_store(
                name=path.stem, result=result, is_demo=True, position=position
            )
            kept.append(scenario.pk)
        Scenario.objects.filter(is_demo=True).exclude(pk__in=kept).update(is_demo=False)
