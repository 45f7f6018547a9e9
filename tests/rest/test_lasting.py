"""What an address names by its seq never changes: an entity tag stands for it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kscope.runs import aside, selectors
from kscope.runs.models import Run
from tests.contract import document

pytestmark = pytest.mark.django_db(transaction=True)

# Every operation that says so, and what makes its answer lasting.
_SEQ = "?seq=9"
LASTING = {
    "runs_state_retrieve": _SEQ,
    "runs_counters_retrieve": _SEQ,
    "runs_events_list": "?before=9",
    "runs_objects_list": "?seq=9&kind=Pod",
    "runs_objects_retrieve": _SEQ,
    "runs_diff": "?from=3&to=9",
    "runs_attempts_list": _SEQ,
    "runs_pods_path": _SEQ,
    "runs_pods_path_trials": None,  # only of a pod that is bound: below
    "runs_pods_why_retrieve": _SEQ,
    "runs_why_retrieve": _SEQ,
    "runs_inside_caches": _SEQ,
    "runs_inside_volumes": "?seq=9&pod=default/web",
    "runs_claims_candidates_retrieve": None,  # there is no claim here
    "runs_volumes_claimants_retrieve": None,
}
PARTS = {"namespace": "default", "name": "web", "entity": "pod/default/web"}


def paths() -> dict[str, str]:
    """The addresses of operations whose answers may last, by id."""
    return {
        operation["operationId"]: path
        for path, methods in document()["paths"].items()
        for operation in methods.values()
        if "304" in operation["responses"]
    }


def test_every_operation_with_a_tag_is_tried() -> None:
    assert sorted(paths()) == sorted(LASTING)


@pytest.mark.parametrize("operation", [name for name, query in LASTING.items() if query])
def test_a_known_tag_is_answered_without_work(
    client: Client, driven: Run, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = paths()[operation].format(run_id=driven.pk, **PARTS) + str(LASTING[operation])
    first = client.get(address)
    assert first.status_code == 200, first.content
    tag = first.headers["ETag"]

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("it was computed again")

    for module, name in ((aside, "ask"), (selectors, "run_state_at")):
        monkeypatch.setattr(module, name, fail)
    again = client.get(address, headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert client.get(address.replace("9", "8"), headers={"if-none-match": tag}).status_code != 304


def test_what_may_change_has_no_tag(client: Client, driven: Run) -> None:
    for path in ("state/", "events/", "objects/?kind=Pod", "", "attempts/"):
        assert "ETag" not in client.get(f"/api/v1/runs/{driven.pk}/{path}").headers
    beyond = client.get(f"/api/v1/runs/{driven.pk}/state/?seq={driven.head_seq + 1}")
    assert (beyond.status_code, "ETag" in beyond.headers) == (404, False)


def test_a_tag_opens_nothing_to_others(client: Client, driven: Run, settings: Any) -> None:
    address = f"/api/v1/runs/{driven.pk}/state/?seq=3"
    tag = client.get(address).headers["ETag"]
    settings.LOGIN_REQUIRED = True
    assert client.get(address, headers={"if-none-match": tag}).status_code == 404


def test_who_sees_secret_values_has_another_tag(
    client: Client, driven: Run, admin_user: User, settings: Any
) -> None:
    Run.objects.update(visibility="public")
    address = f"/api/v1/runs/{driven.pk}/objects/node/n1/?seq=3"
    settings.LOGIN_REQUIRED = True
    stranger = client.get(address).headers["ETag"]
    client.force_login(admin_user)
    assert client.get(address, headers={"if-none-match": stranger}).status_code == 200


def test_another_history_has_another_tag(client: Client, driven: Run, driver: None) -> None:
    address = f"/api/v1/runs/{driven.pk}/state/?seq="
    before = client.get(f"{address}{driven.head_seq}").headers["ETag"]
    body = {"verb": "cordon", "object": "node/n1"}
    made = client.post(f"/api/v1/runs/{driven.pk}/commands/", body, "application/json").json()
    assert client.get(f"{address}{driven.head_seq}").headers["ETag"] == before
    assert client.get(f"{address}{made['seq']}").headers["ETag"] != before
