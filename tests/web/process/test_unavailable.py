"""What is answered while PostgreSQL is away."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client, RequestFactory

from kscope.failures.unavailable import handle_server_error


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A browser, while nothing listens where the database should be."""
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")
    yield Client(raise_request_exception=False)
    connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/runs/", "/api/v1/runs/1/", "/api/v1/runs/1/state/"])
def test_the_api_says_that_the_database_is_away(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer.json()["detail"].startswith("The database does not answer.")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/", "/runs/1/", "/admin/"])
def test_a_page_says_that_the_database_is_away(client: Client, path: str) -> None:
    answer = client.get(path, headers={"Cookie": "sessionid=0123456789abcdef"})
    assert answer.status_code == 503
    assert "The database does not answer." in answer.content.decode()
    assert "Traceback" not in answer.content.decode()


def test_a_mistake_is_still_answered_with_500(rf: RequestFactory) -> None:
    try:
        raise KeyError("what is this")
    except KeyError:
        assert handle_server_error(rf.get("/api/v1/runs/")).status_code == 500


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ('could not open file "base/1/2650": Read-only file system', OperationalError),
        ("permission denied for table runs_run", ProgrammingError),
    ],
)
def test_a_read_only_disk_is_a_database_away(said: str, kind: type[Exception]) -> None:
    refuse = f"DO $$ BEGIN RAISE EXCEPTION '{said}' USING ERRCODE = '42501'; END $$"
    with pytest.raises(kind, match=said), connection.cursor() as cursor:
        cursor.execute(refuse)
