"""The checks of a run, as a user asks for them, and what they find in a damaged record."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from kscope.runs.models import Run, RunEvent
from scheduling.models import Pod
from tests.record import events_change, events_remove


def checked(run: Run) -> tuple[str, int]:
    """What `manage.py check_run` prints of the run, and its exit status."""
    out = StringIO()
    try:
        call_command("check_run", str(run.pk), stdout=out)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


def test_a_sound_run_passes_by_command(driven: Run) -> None:
    printed, status = checked(driven)
    assert printed == f"run {driven.pk}, event {driven.head_seq}: 7 checks found nothing wrong\n"
    assert status == 0


def test_a_sound_run_passes_by_rest(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/checks/").json()
    assert (answer["seq"], answer["findings"]) == (driven.head_seq, [])
    assert "view against rows" in answer["checks"]


def test_a_missing_event_is_found(driven: Run) -> None:
    events_remove(driven.pk, lambda seq: seq == 5)
    printed, status = checked(driven)
    assert "events without gaps: the head is event" in printed
    assert status == 1


def test_a_changed_event_is_found(driven: Run) -> None:
    bound = RunEvent.objects.get(run=driven, object="pod/default/web", kind="PodBound")
    changes = '{"pod/default/web": {"node": "elsewhere"}}'
    events_change(driven.pk, [bound.seq], changes=changes)
    printed, _ = checked(driven)
    assert "view against events: pod/default/web: recorded is {" in printed


def test_row_that_is_out_of_date_is_found(driven: Run) -> None:
    Pod.objects.filter(run_id=driven.pk, key="default/web").delete()
    printed, _ = checked(driven)
    assert "view against rows: pod/default/web: recorded is nothing, is {" in printed


@pytest.mark.django_db
def test_a_run_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="there is no run 404"):
        call_command("check_run", "404")
