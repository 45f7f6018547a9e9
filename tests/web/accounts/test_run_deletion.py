"""Runs are deleted whole, from every door, by those who may change them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from kscope.accounts.access import Role, Visibility
from kscope.accounts.services import account_create
from kscope.runs import services
from kscope.runs.errors import ApplicationError
from kscope.runs.models import ClientLease, Run, RunEvent, Scenario
from tests.waiting import HANG_SECONDS
from tests.web.conftest import in_thread, wait_until_beyond

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]


def rows_of(run_id: int) -> dict[str, int]:
    """How many rows each table has that belong to the run; tables without one are left out."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE column_name = 'run_id' AND table_schema = current_schema()"
        )
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT count(*) FROM "{table}" WHERE run_id = %s', [run_id])
            found[table] = cursor.fetchone()[0]
    return {table: number for table, number in found.items() if number}


def account(name: str, role: Role = Role.EDITOR) -> Any:
    return account_create(name=name, role=role, password="a long enough phrase")[0]


def logged_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_nothing_is_left_in_any_table(client: Client, driven: Run) -> None:
    services.command_submit(run=driven, body={"verb": "cordon", "object": "node/n1"})
    ClientLease.objects.create(run=driven, key="a/b", version=1, manifest={})
    assert client.get(f"/api/v1/runs/{driven.pk}/why/node/n1/").status_code == 200
    tables = {"runs_runevent", "runs_command", "runs_checkpoint", "runs_clientlease"}
    tables |= {"runs_keyframe", "runs_viewchunk", "runs_keptanswer"}
    tables |= {"scheduling_pod", "scheduling_node", "scheduling_schedulingattempt"}
    assert tables <= rows_of(driven.pk).keys()
    assert client.delete(f"/api/v1/runs/{driven.pk}/").status_code == 204
    assert rows_of(driven.pk) == {}
    assert client.delete(f"/api/v1/runs/{driven.pk}/").status_code == 404


def test_a_playing_run_is_stopped_and_deleted(client: Client, start: Start) -> None:
    run = start(play=True, speed="100")
    number, owner = run.pk, in_thread(run)
    wait_until_beyond(run, 0)
    assert client.delete(f"/api/v1/runs/{number}/").status_code == 204
    owner.join(HANG_SECONDS)
    assert not owner.is_alive()
    assert rows_of(number) == {}


def test_forks_of_a_deleted_run_keep_theirs(client: Client, driven: Run) -> None:
    fork = services.run_fork(run=driven)
    before = rows_of(fork.pk)
    assert client.get(f"/api/v1/runs/{driven.pk}/").json()["forks"] == 1
    client.delete(f"/api/v1/runs/{driven.pk}/")
    fork.refresh_from_db()
    assert fork.parent_id is None
    assert rows_of(fork.pk) == before


def test_only_those_who_may_change_see_the_button(scenario: Scenario, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    owner, other = account("eva"), account("otto")
    run = services.run_create(scenario=scenario, owner_id=owner.pk)
    services.owned_share(thing=run, visibility=Visibility.SHARED)
    for path in ("/runs/", f"/runs/{run.pk}/", f"/runs/{run.pk}/timeline/"):
        seen = [
            b"data-delete" in logged_in(user).get(path).content
            for user in (owner, other, account(f"root{len(path)}", Role.ADMIN))
        ]
        assert seen == [True, False, True], path
    assert logged_in(other).delete(f"/api/v1/runs/{run.pk}/").status_code == 403
    assert Run.objects.filter(pk=run.pk).exists()


def test_the_admin_asks_before_it_deletes(admin_client: Client, driven: Run) -> None:
    fork = services.run_fork(run=driven)
    path = f"/admin/runs/run/{driven.pk}/delete/"
    question = admin_client.get(path).content.decode()
    assert f"with {driven.head_seq:,} events" in question
    assert "its fork keeps its own history" in question
    assert rows_of(driven.pk)
    admin_client.post(path, {"post": "yes"})
    assert "runs_run" not in rows_of(driven.pk)
    admin_client.post(f"/admin/runs/run/{fork.pk}/delete/", {"post": "yes"})
    assert rows_of(driven.pk) == {}


def test_the_admin_deletes_chosen_runs(admin_client: Client, start: Start) -> None:
    runs = [start().pk for _ in range(3)]
    chosen = {"action": "delete_selected", "_selected_action": runs[:2]}
    question = admin_client.post("/admin/runs/run/", chosen)
    assert "Are you sure" in question.content.decode()
    assert Run.objects.count() == 3
    admin_client.post("/admin/runs/run/", {**chosen, "post": "yes"})
    assert [run.pk for run in Run.objects.all()] == runs[2:]


def test_a_refusal_names_runs_that_could_go(scenario: Scenario, settings: Any) -> None:
    owner = account("eva")
    settings.QUOTAS = {**settings.QUOTAS, "runs": 4}
    made = [services.run_create(scenario=scenario, owner_id=owner.pk) for _ in range(4)]
    Run.objects.exclude(pk=made[3].pk).update(status=Run.Status.FINISHED)
    Run.objects.filter(pk=made[2].pk).update(kept=True)
    Run.objects.filter(pk=made[0].pk).update(lease_since=made[3].created)
    with pytest.raises(ApplicationError) as refusal:
        services.run_create(scenario=scenario, owner_id=owner.pk)
    could_go = refusal.value.extra["could_go"]
    assert [one["id"] for one in could_go] == [made[1].pk, made[0].pk]
    assert could_go[0] == {
        "id": made[1].pk,
        "name": made[1].name,
        "computed": made[1].created.isoformat(),
    }
    when = f"{made[1].created:%Y-%m-%d %H:%M} UTC"
    named = f"The oldest finished ones: {made[1].name} #{made[1].pk} (last computed {when}), "
    assert named in refusal.value.message


def test_the_page_names_them_as_well(scenario: Scenario, settings: Any) -> None:
    owner = account("eva")
    settings.QUOTAS = {**settings.QUOTAS, "runs": 1}
    run = services.run_create(scenario=scenario, owner_id=owner.pk)
    Run.objects.update(status=Run.Status.FINISHED)
    services.owned_share(thing=scenario, visibility=Visibility.PUBLIC)
    page = logged_in(owner).post(f"/scenarios/{scenario.pk}/start/", follow=True).content.decode()
    assert f"The oldest finished ones: {run.name} #{run.pk} (last computed " in page


def test_events_of_other_runs_stay(client: Client, driven: Run, start: Start) -> None:
    other = start().pk
    client.delete(f"/api/v1/runs/{other}/")
    assert RunEvent.objects.filter(run_id=driven.pk).count() == driven.head_seq
