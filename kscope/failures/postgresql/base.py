"""PostgreSQL as Django knows it, except for what a read-only disk makes it say."""

import errno
import os
from types import TracebackType
from typing import Any

from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property
from psycopg.errors import InsufficientPrivilege


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose errors say what failed."""

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
        if isinstance(exc_value, InsufficientPrivilege) and _READ_ONLY in str(exc_value):
            raise OperationalError(*exc_value.args).with_traceback(traceback) from exc_value
        return super().__exit__(exc_type, exc_value, traceback)


_READ_ONLY = os.strerror(errno.EROFS)
