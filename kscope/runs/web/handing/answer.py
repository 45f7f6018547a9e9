"""The response with an export, which waits until it is whole."""

import os
import weakref
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import mkstemp
from typing import Self

from asgiref.sync import sync_to_async
from django.http import HttpResponse
from django.utils.translation import gettext

from kscope.exports.registry import FORMATS
from kscope.runs import aside
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.selectors import check_seq, run_seq_at
from kscope.runs.web.answers import EngineParts, refused, saved_as
from kscope.runs.web.handing.making import Wanted, export_made

_PIECE = 256 * 1024
# For each part of an export, and until an engine process is free.
_SECONDS, _PATIENCE_SECONDS = 120.0, 120.0


class ExportAnswer(EngineParts):
    """The export of a run as a file to keep. Only an `EngineView` may return it."""

    def __init__(self, run: Run, wanted: Wanted) -> None:
        self._release: Callable[[], object] | None = None
        handle, self._path = mkstemp(prefix="kscope-export-")
        os.close(handle)
        given = {"path": self._path, "wanted": asdict(wanted)}
        super().__init__(
            Question.about(run, export_made, given, seconds=_SECONDS, patience=_PATIENCE_SECONDS)
        )
        form = FORMATS[wanted.format]
        self.headers["Content-Type"] = form.media_type
        self.headers["Content-Disposition"] = saved_as(run.name, f"-{run.pk}{form.ending}")
        del self.headers["X-Accel-Buffering"]

    async def begin(self, asker: str) -> HttpResponse | Self:
        """Wait for the whole export; a refusal is a response of its own."""
        path = Path(self._path)
        try:
            await aside.ask(self.question, asker)
        except ApplicationError as refusal:
            path.unlink(missing_ok=True)
            return refused(refusal)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        opened = os.open(path, os.O_RDONLY)
        self._release = weakref.finalize(self, os.close, opened)
        # What is open stays until it is closed, whatever becomes of the client.
        path.unlink()
        self.headers["Content-Length"] = str(os.fstat(opened).st_size)
        self.streaming_content = _pieces(opened)
        return self

    def close(self) -> None:
        """See HttpResponseBase: it is sent, or nobody reads on."""
        super().close()
        if self._release is not None:
            self._release()


async def _pieces(opened: int) -> AsyncGenerator[bytes]:
    while piece := await sync_to_async(os.read, thread_sensitive=False)(opened, _PIECE):
        yield piece


def export_answer(run: Run, wanted: Wanted, at: int | None) -> ExportAnswer:
    """The answer with an export, up to the event that is wanted, or else up to virtual time *at*.

    Raises ApplicationError for a format that is not known, and for what it cannot be of.
    """
    form = FORMATS.get(wanted.format)
    if form is None:
        words = gettext("format is {format}; it must be one of {known}")
        known = ", ".join(FORMATS)
        raise ApplicationError(words.format(format=repr(wanted.format), known=known))
    if form.of_pod and not wanted.pod:
        raise ApplicationError(gettext("A diagram shows one pod: name it as pod=NAMESPACE/NAME."))
    seq = run_seq_at(run, at=at) if wanted.seq is None and at is not None else wanted.seq
    if seq is not None:
        check_seq(run, seq)
        if form.of == "run" and seq != run.head_seq:
            words = gettext(
                "A run is exported as a whole. Fork it at event {seq}, and export the fork."
            )
            raise ApplicationError(words.format(seq=seq))
    return ExportAnswer(run, replace(wanted, seq=seq))
