"""Empties the test database after a test that commits.

Django's own flush truncates every table and then makes all permissions anew, which took as much
CPU time as many of the tests.
"""

from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg import sql
from psycopg.errors import LockNotAvailable

from tests.waiting import wait_for

MADE_BY_MIGRATIONS = frozenset({"auth_permission", "django_content_type", "django_migrations"})
TRUNCATED_FROM = 128 * 1024
"""Bytes. Deleting rows is faster for small tables, but leaves dead rows; truncating leaves none."""


def empty_database() -> None:
    """Delete all rows but those that the migrations make.

    Like a flush, it waits until no other connection has a transaction open on these tables.
    """
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = sorted(set(names) - MADE_BY_MIGRATIONS)
    wait_for(lambda: is_emptied(tables), "a transaction stays open on a table", every=0.01)


def is_emptied(tables: list[str]) -> bool:
    """Empty the tables; False, with nothing done, while another connection uses one of them.

    Who waited for one with others locked could wait for a reader that waits for those others.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql.SQL("LOCK TABLE {} NOWAIT").format(_listed(tables)))
            _empty(cursor, tables)
    except OperationalError as problem:
        if not isinstance(problem.__cause__, LockNotAvailable):
            raise
        return False
    return True


def _empty(cursor: Any, tables: list[str]) -> None:
    cursor.execute(sql.SQL(" UNION ALL ").join(map(_size_when_filled, tables)))
    sizes = dict(cursor.fetchall())
    large = [table for table, size in sizes.items() if size > TRUNCATED_FROM]
    if large:
        cursor.execute(sql.SQL("TRUNCATE {} CASCADE").format(_listed(large)))
    # Foreign keys are checked at the end of the transaction, so that any order does.
    for table in sizes.keys() - large:
        cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))


def _listed(tables: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, tables))


def _size_when_filled(table: str) -> sql.Composed:
    """A query for the name and the bytes of *table*, without a row when the table is empty."""
    return sql.SQL(
        "SELECT {name}, pg_relation_size({name}) WHERE EXISTS (SELECT FROM {table})"
    ).format(name=sql.Literal(table), table=sql.Identifier(table))
