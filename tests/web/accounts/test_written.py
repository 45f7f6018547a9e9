"""Which requests a browser may send again by itself while the database is away."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from kscope.failures.unavailable import handle_server_error
from kscope.runs.models import Run
from kscope.runs.web.written import WrittenMiddleware
from tests.kube.server.faults import refused_by_the_database

pytestmark = pytest.mark.django_db(transaction=True)
LOST = "the connection is lost"


def write(problem: Exception | None = None) -> None:
    """Change something; with *problem*, the statement ends with that."""

    def fail(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        if problem is None:
            return execute(sql, params, many, context)
        raise problem

    with connection.execute_wrapper(fail):
        Run.objects.filter(pk=0).update(name="other")


def refusal() -> DatabaseError:
    """A statement that the database itself undid, as Django raises it."""
    made = OperationalError("no space")
    made.__cause__ = refused_by_the_database()
    return made


def read_and_lose() -> None:
    assert not Run.objects.filter(pk=0).exists()
    raise OperationalError(LOST)


def write_and_lose() -> None:
    write()
    raise OperationalError(LOST)


def lose_the_statement() -> None:
    write(OperationalError(LOST))


def be_refused() -> None:
    write(refusal())


def lose_within_a_transaction() -> None:
    with transaction.atomic():
        write()
        write(OperationalError(LOST))


def lose_the_commit() -> None:
    with transaction.atomic():
        write()
    raise OperationalError(LOST)


def commit_that_fails() -> None:
    real = connection.commit

    def commit() -> None:
        connection.rollback()
        raise OperationalError(LOST)

    connection.commit = commit  # type: ignore[method-assign]
    try:
        with transaction.atomic():
            write()
    finally:
        connection.commit = real  # type: ignore[method-assign]


def be_undone_and_lose() -> None:
    with transaction.atomic():
        write()
        transaction.set_rollback(True)
    with transaction.atomic():
        write()
    raise OperationalError(LOST)


TABLE: dict[Callable[[], None], int] = {
    read_and_lose: 503,
    write_and_lose: 504,
    lose_the_statement: 504,
    be_refused: 503,
    lose_within_a_transaction: 503,
    lose_the_commit: 504,
    commit_that_fails: 504,
    be_undone_and_lose: 504,
}


@pytest.mark.parametrize("work", TABLE, ids=lambda work: work.__name__)
@pytest.mark.parametrize("path", ["/api/v1/runs/", "/upload/"])
def test_time_to_try_again_means_nothing_is_stored(
    rf: RequestFactory, path: str, work: Callable[[], None]
) -> None:
    def respond(request: HttpRequest) -> HttpResponse:
        try:
            work()
        except DatabaseError:
            return handle_server_error(request)  # type: ignore[return-value]
        raise AssertionError("the work goes well")

    connection.ensure_connection()  # A connection that cannot be made is no statement that is lost.
    answer = WrittenMiddleware(respond)(rf.post(path))
    assert answer.status_code == TABLE[work]
    assert ("Retry-After" in answer) == (answer.status_code == 503)
    assert (b"may have been carried out" in answer.content) == (answer.status_code == 504)


def test_a_refusal_after_a_write_names_no_time(rf: RequestFactory) -> None:
    def respond(request: HttpRequest) -> HttpResponse:
        write()
        return HttpResponse(status=429, headers={"Retry-After": "3"})

    assert "Retry-After" not in WrittenMiddleware(respond)(rf.post("/api/v1/runs/"))
