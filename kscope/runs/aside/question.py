"""A question of a page that an engine process answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from engine.input.budget import Budget
from kscope.runs.drive.same_database import database_name
from kscope.runs.languages.reader import language
from kscope.runs.models import Run

REPLAY_SECONDS = 60.0
QUERY_SECONDS = 30.0
_MIB = 1024 * 1024
_USUAL_MEMORY = Budget().memory // _MIB


@dataclass(frozen=True, slots=True)
class Question:
    """A call of *function*, one of a module, with *arguments*; both they and the answer are JSON.

    It is about run *run_id*: the process that answered about the run before is preferred, because it
    keeps what it replayed; 0 is about none. Computing may take *seconds*, of an answer in parts each
    part, and waiting *patience* seconds.
    *of_head*: it is about the run's head as that stands, and is answered sooner by a fork of the process
    that has the engine there; see `registry.answer_ask`.
    *lasts* says that the answer never changes, because it is about a given event of the history.
    It is given in the `language` that is active when the question is made. *memory* is what the run
    may take, in MiB: a question about a large run may take as much.
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]
    run_id: int
    seconds: float = REPLAY_SECONDS
    lasts: bool = False
    patience: float | None = None
    of_head: bool = False
    memory: int = 0
    name: str = field(init=False)
    language: str = field(init=False)

    def __post_init__(self) -> None:
        name = f"{self.function.__module__}:{self.function.__qualname__}"
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "language", language())

    @classmethod
    def about(
        cls, run: Run, function: Callable[..., Any], arguments: dict[str, Any], **options: Any
    ) -> Self:
        """A question for which an engine of *run* is made."""
        memory = run.budget_memory // _MIB
        return cls(function, {"run_id": run.pk, **arguments}, run.pk, memory=memory, **options)

    @property
    def is_large(self) -> bool:
        """Whether its run may take more memory than others."""
        return self.memory > _USUAL_MEMORY

    def request(self) -> bytes:
        """The line that an engine process reads."""
        request = {
            "function": self.name,
            "arguments": self.arguments,
            "database": database_name(),
            "seconds": self.seconds,
            "language": self.language,
            "memory": self.memory if self.is_large else 0,
        }
        return orjson.dumps(request, option=orjson.OPT_SORT_KEYS) + b"\n"
