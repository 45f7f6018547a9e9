"""How kscope writes logs: one formatter for its own loggers, Django's, uvicorn's and Celery's.

Every line carries what is bound to the work at hand: `run`, `seq` and `epoch` in a worker,
`request_id` and `account` in the web process. KSCOPE_LOG_FORMAT=json makes each line one JSON
object; otherwise a line is for people. Used by the settings, so it imports no Django.
"""

import logging
import logging.config
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, merge_contextvars, reset_contextvars
from structlog.typing import EventDict, WrappedLogger

FORMS = ("lines", "json")
# uvicorn and Celery bring handlers of their own, in the place of which ours are put.
_OTHERS = ("uvicorn", "uvicorn.error", "celery")
# Not known before its first use, so it is looked up when a line is written.
current_request: ContextVar[Any] = ContextVar("current_request", default=None)


def configure(form: str, level: str) -> None:
    """Have this process, and those forked from it, write so; see `logging_settings`."""
    logging.config.dictConfig(logging_settings(form, level))


def logging_settings(form: str, level: str) -> dict[str, Any]:
    """What `logging.config.dictConfig` takes; *level* is that of kscope's own loggers."""
    render = structlog.processors.JSONRenderer() if form == "json" else _line
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "kscope": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [
                    merge_contextvars,
                    _add_account,
                    structlog.stdlib.add_log_level,
                    structlog.stdlib.add_logger_name,
                    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                ],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    structlog.processors.EventRenamer("message"),
                    render,
                ],
            }
        },
        "filters": {"clients": {"()": ClientsFaults}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "kscope"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            **{
                name: {"level": level}
                for name in ("engine", "kscope", "scheduling", "volumes", "kube")
            },
            "django": {"level": "INFO"},
            **{name: {"handlers": [], "level": "INFO", "propagate": True} for name in _OTHERS},
            "uvicorn.error": {
                "handlers": [],
                "level": "INFO",
                "propagate": True,
                "filters": ["clients"],
            },
            # A line for each request would take a tenth of its time.
            "uvicorn.access": {"handlers": [], "propagate": False},
        },
    }


class ClientsFaults(logging.Filter):
    """What a client did wrong is no error of the server: one quiet line, and no traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        if record.msg == _NO_UTF_8:
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.exc_info = record.exc_text = None
        return record.msg != _NO_HANDSHAKE


# As uvicorn says it. The second comes whenever a socket is refused with an answer, as it should be.
_NO_UTF_8 = "Invalid UTF-8 sequence received from client."
_NO_HANDSHAKE = "ASGI callable returned without completing handshake."


@contextmanager
def bound(**fields: Any) -> Iterator[None]:
    """Until the end of the block, every line of this thread of work carries *fields*."""
    tokens = bind_contextvars(**fields)
    try:
        yield
    finally:
        reset_contextvars(**tokens)


def bind(**fields: Any) -> None:
    """Change what an enclosing `bound` has bound."""
    bind_contextvars(**fields)


def _add_account(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The account of the request, once something has looked at it: a log line asks no database."""
    user = getattr(current_request.get(), "_cached_user", None)
    if user is not None and user.pk is not None:
        event["account"] = user.get_username()
    return event


_FIRST = ("time", "level", "logger", "message", "exception")


def _line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`time LEVEL logger: message [key=value …]`, and the traceback below."""
    more = " ".join(
        f"{key}={value}"
        for key, value in sorted(event.items())
        if key not in _FIRST and value is not None
    )
    line = f"{event['time']} {event['level'].upper()} {event['logger']}: {event['message']}"
    trace = f"\n{event['exception']}" if "exception" in event else ""
    return f"{line} [{more}]{trace}" if more else line + trace
