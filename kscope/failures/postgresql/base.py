"""PostgreSQL as Django knows it, except for two things.

A read-only disk is an operational error. And where the settings of the database have IDLE_KEY,
PostgreSQL ends a session that says nothing for so many seconds in the middle of a transaction, and
so gives back the rows that it has locked.
"""

import errno
import os
from types import TracebackType
from typing import Any

from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg.errors import IdleInTransactionSessionTimeout, InsufficientPrivilege

IDLE_KEY = "IDLE_IN_TRANSACTION_SECONDS"


def pooled(database: dict[str, Any], size: int) -> dict[str, Any]:
    """The settings of *database* for a process that answers requests, with at most *size* connections."""
    return {
        **database,
        # Each request has a thread of its own, with which a connection that it kept would be lost.
        "CONN_MAX_AGE": 0,
        # One that hangs in a transaction would keep the rows that it has locked for ever. None waits
        # there for anything but the database: lists and exports, which wait for slow readers, lock
        # no rows, and have connections of their own.
        IDLE_KEY: 60,
        "OPTIONS": {
            **database["OPTIONS"],
            "pool": {"min_size": 1, "max_size": size, "timeout": 10.0},
        },
    }


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose errors say what failed, and whose transactions do not wait for ever."""

    def _configure_connection(self, connection: Any) -> bool:
        """See Django, which calls it for each connection that is made, with a pool and without."""
        django: Any = super()
        commit: bool = django._configure_connection(connection)
        seconds = self.settings_dict.get(IDLE_KEY)
        if not seconds:
            return commit
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_in_transaction_session_timeout = '{seconds}s'")
        return True

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        """See BaseDatabaseWrapper."""
        return _Errors(self)


class _Errors(DatabaseErrorWrapper):
    """Raises Django's errors in place of psycopg's."""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        # PostgreSQL has one code for this and for a role without rights, errcode_for_file_access in
        # elog.c. A ProgrammingError would be a defect, and end the run in which it is raised.
        is_read_only = isinstance(exc_value, InsufficientPrivilege) and _READ_ONLY in str(exc_value)
        # So would an InternalError, for a session that PostgreSQL has ended.
        if is_read_only or isinstance(exc_value, IdleInTransactionSessionTimeout):
            assert exc_value is not None
            raise OperationalError(*exc_value.args).with_traceback(traceback) from exc_value
        return super().__exit__(exc_type, exc_value, traceback)


_READ_ONLY = os.strerror(errno.EROFS)
