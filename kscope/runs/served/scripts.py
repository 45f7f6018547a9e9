"""What containers of a run do, by its scenario."""

from channels.db import database_sync_to_async

from engine.objects.scripts.reading import ignored, read_scripts
from engine.objects.scripts.script import Script
from kscope.runs.models import Run


@database_sync_to_async
def scripts_of_run(run_id: int) -> tuple[Script, ...]:
    """The entries of the scenario of a run; none for a run that is gone."""
    rows = Run.objects.filter(pk=run_id).values_list("scenario__header__containers", flat=True)
    return read_scripts(rows.first(), (), ignored)
