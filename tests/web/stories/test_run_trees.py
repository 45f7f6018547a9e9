"""The runs of a scenario as a tree on the page of runs."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kscope.runs import services
from kscope.runs.models import Run
from tests.web.accounts.test_run_deletion import account, logged_in

pytestmark = pytest.mark.django_db(transaction=True)
_ROW = re.compile(r'<tr data-run="(\d+)">(.*?)</th>', re.DOTALL)


def shown(page: str) -> list[tuple[int, int]]:
    """The runs in their order, each with the branches before its name."""
    return [(int(run), row.count('class="branch"')) for run, row in _ROW.findall(page)]


def tree_of(run: Run, client: Client) -> list[tuple[int, int]]:
    return shown(client.get(f"/runs/?scenario={run.scenario_id}").content.decode())


def test_forks_stand_below_their_parents(
    client: Client, driven: Run, start: Callable[..., Run]
) -> None:
    late, early = (services.run_fork(run=driven, seq=seq) for seq in (20, 3))
    below = services.run_fork(run=late, seq=0)
    other = start()
    right = [(other.pk, 0), (driven.pk, 0), (early.pk, 1), (late.pk, 1), (below.pk, 2)]
    assert tree_of(driven, client) == right
    page = client.get("/runs/").content.decode()
    assert f'href="?scenario={driven.scenario_id}"' in page
    assert (
        "Runs of " + driven.scenario.name
        in client.get(f"/runs/?scenario={driven.scenario_id}").content.decode()
    )


def test_forks_of_a_deleted_fork_move_up(client: Client, driven: Run) -> None:
    late = services.run_fork(run=driven, seq=20)
    below = services.run_fork(run=late, seq=0)
    services.run_delete(run=late)
    assert tree_of(driven, client) == [(driven.pk, 0), (below.pk, 1)]
    services.run_delete(run=driven)
    assert tree_of(driven, client) == [(below.pk, 0)]


def test_a_tree_shows_what_may_be_read(scenario: Any, driven: Run, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    owner, other = account("eva"), account("otto")
    Run.objects.filter(pk=driven.pk).update(owner=owner)
    fork = services.run_fork(run=driven, seq=3, owner_id=other.pk)
    assert tree_of(driven, logged_in(other)) == [(fork.pk, 0)]
    assert tree_of(driven, logged_in(owner)) == [(driven.pk, 0)]
    assert tree_of(driven, Client()) == []


def test_a_fork_tells_what_it_tries(client: Client, driven: Run) -> None:
    fork = services.run_fork(run=driven, seq=3)
    Run.objects.filter(pk=fork.pk).update(trial={"order": "delete pod default/web"})
    page = client.get(f"/runs/?scenario={driven.scenario_id}").content.decode()
    assert "tries: delete pod default/web" in page


@pytest.mark.parametrize("number", ["0", "9" * 40, "x", ""])
def test_numbers_without_a_scenario_are_answered(client: Client, driven: Run, number: str) -> None:
    assert client.get(f"/runs/?scenario={number}").status_code == 200
