"""Which question is computed when, and by which engine process.

    asked ──▶ waiting ──▶ computing ──▶ answered
                 │            └──▶ given up: its asker left and another one waits, or its time is up
                 └──▶ refused: its asker left, too many wait, or it has waited too long

Askers take turns, and so do the runs of one asker. One asker never has all processes.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.aside.heads import LARGE_PATIENCE_SECONDS, PATIENCE_SECONDS, Heads
from kscope.runs.aside.process import EngineProcess, OnPart, ProcessEnded, ignored
from kscope.runs.aside.question import Question
from kscope.runs.capacity.fair_queue import FairQueue, Key, QueueFull
from kscope.runs.errors import ApplicationError

WAITING = 64  # questions of all askers
WAITING_EACH = 16  # of one asker
WAIT_SECONDS = 30.0  # unless the question has more patience
RETRY_AFTER = 3
_TOO_MANY = gettext_lazy("Too many questions wait for an answer; try again in a moment.")
_TOO_MANY_OF_YOURS = format_lazy(
    gettext_lazy("{number} of your questions wait already; try again in a moment."),
    number=WAITING_EACH,
)
_LEFT = gettext_lazy("No request waits for the answer any more.")


@dataclass(slots=True, eq=False)
class Job:
    """A question and all who wait for its answer."""

    question: Question
    asker: str
    request: bytes
    answer: "asyncio.Future[bytes]"
    askers: int = 0
    computing: "asyncio.Task[None] | None" = None
    patience: asyncio.TimerHandle | None = None
    # The parts of the answer so far, and who gets each further one.
    parts: list[bytes] = field(default_factory=list[bytes])
    listeners: list[OnPart] = field(default_factory=list[OnPart])

    def listen(self, on_part: OnPart) -> None:
        """Give *on_part* the parts so far, and each further one as it comes."""
        for part in self.parts:
            on_part(part)
        self.listeners.append(on_part)

    def add_part(self, part: bytes) -> None:
        """A part of the answer has come."""
        self.parts.append(part)
        for on_part in self.listeners:
            on_part(part)

    @property
    def key(self) -> tuple[str, str]:
        """The key in the fair queue: the asker, then the run."""
        return self.asker, str(self.question.run_id)

    @property
    def is_abandoned(self) -> bool:
        """Whether all who asked have left."""
        return self.askers == 0


class Pool:
    """The engine processes of one event loop, started as they are needed."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size or settings.ENGINE_PROCESSES
        self.processes: list[EngineProcess] = []
        self._idle: list[EngineProcess] = []  # the one used last comes last
        self._waiting: FairQueue[Job] = FairQueue(WAITING, WAITING_EACH)
        self._computing: list[Job] = []
        self._heads = Heads()

    async def ask(self, question: Question, asker: str, on_part: OnPart = ignored) -> bytes:
        """See `aside.ask`."""
        job = self._shared(question) or self._queued(question, asker)
        job.askers += 1
        job.listen(on_part)
        self._dispatch()
        try:
            return await asyncio.shield(job.answer)
        finally:
            job.askers -= 1
            job.listeners.remove(on_part)
            if job.is_abandoned and not job.answer.done():
                self._abandon(job)

    async def close(self) -> None:
        """Refuse what waits and end all processes."""
        while (job := self._waiting.take()) is not None:
            self._refuse(job, gettext_lazy("kscope is stopping."), 503)
        tasks = [job.computing for job in self._computing if job.computing]
        for task in tasks:
            _stop(task)
        await asyncio.gather(*tasks, return_exceptions=True)
        for process in self.processes:
            process.kill()
        await asyncio.gather(*(process.wait() for process in self.processes))
        self.processes, self._idle = [], []
        await self._heads.close()

    def _shared(self, question: Question) -> Job | None:
        """The job of an equal question that waits, or whose answer stays valid (`lasts`)."""
        request = question.request()
        same = (job for job in self._computing if question.lasts and job.request == request)
        return next(same, None) or self._waiting.find(lambda job: job.request == request)

    def _queued(self, question: Question, asker: str) -> Job:
        """A new job in the queue. Raises ApplicationError when there is no room."""
        loop = asyncio.get_running_loop()
        job = Job(question, asker, question.request(), loop.create_future())
        # If all askers have left, read the exception here: asyncio would log it as never retrieved.
        job.answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
        try:
            dropped = self._waiting.put(job.key, job)
        except QueueFull as full:
            words, status = (_TOO_MANY_OF_YOURS, 429) if full.own else (_TOO_MANY, 503)
            with translation.override(question.language):
                refusal = ApplicationError(words, status=status, retry_after=RETRY_AFTER)
            raise refusal from None
        if dropped:
            self._refuse(dropped, _TOO_MANY, 503)
        patience = question.patience or WAIT_SECONDS
        job.patience = loop.call_later(patience, self._lose_patience, job)
        return job

    def _lose_patience(self, job: Job) -> None:
        if self._waiting.remove(job.key, job):
            self._refuse(
                job, gettext_lazy("Other questions took too long; try again in a moment."), 503
            )

    def _refuse(self, job: Job, words: Promise, status: int) -> None:
        if job.patience:
            job.patience.cancel()
        with translation.override(job.question.language):
            refusal = ApplicationError(words, status=status, retry_after=RETRY_AFTER)
        job.answer.set_exception(refusal)

    def _abandon(self, job: Job) -> None:
        """Drop a waiting question; stop one that is being computed only if others wait."""
        if self._waiting.remove(job.key, job):
            self._refuse(job, _LEFT, 503)
        self._dispatch()

    # Computing.

    def _dispatch(self) -> None:
        """Give waiting questions to processes for as long as there are both."""
        while self._waiting:
            process = self._free_process()
            if process is None:
                self._stop_abandoned()
                return
            job = self._waiting.take(skip=self._has_to_wait)
            if job is None:
                self._idle.append(process)
                if self._waiting.find(lambda job: job.question.is_large):
                    self._stop_abandoned(large=True)
                return
            self._begin(job, self._best(process, job.question.run_id))

    def _free_process(self) -> EngineProcess | None:
        """An idle process, or a new one where there may be more."""
        for process in self.processes:
            if not process.is_alive:
                process.close()
        self.processes = [process for process in self.processes if process.is_alive]
        self._idle = [process for process in self._idle if process.is_alive]
        if self._idle:
            return self._idle.pop(0)
        if len(self.processes) >= self.size:
            return None
        process = EngineProcess()
        self.processes.append(process)
        return process

    def _best(self, process: EngineProcess, run_id: int) -> EngineProcess:
        """An idle process that knows the run, else *process*."""
        for place, idle in enumerate(self._idle):
            if run_id in idle.runs and run_id not in process.runs:
                self._idle[place] = process
                return idle
        return process

    def _has_to_wait(self, key: Key) -> bool:
        """Whether an asker has all processes that one may have: one is always left for others.

        A question about a large run waits for another one.
        """
        asker = key[0]
        if any(job.question.is_large for job in self._computing) and self._waiting.find(
            lambda job: job.question.is_large and job.key == key
        ):
            return True
        own = sum(job.asker == asker and not job.is_abandoned for job in self._computing)
        return own >= max(1, self.size - 1)

    def _stop_abandoned(self, *, large: bool = False) -> None:
        """Stop a computation whose askers have left, so that its process becomes free.

        Only one about a *large* run makes room for another large run.
        """
        for job in self._computing:
            if job.is_abandoned and job.computing and job.question.is_large >= large:
                _stop(job.computing)
                return

    def _begin(self, job: Job, process: EngineProcess) -> None:
        if job.patience:
            job.patience.cancel()
        self._computing.append(job)
        if job.question.is_large:
            for idle in self._idle:
                if idle.is_large:
                    idle.kill()
        process.is_large = job.question.is_large
        job.computing = asyncio.create_task(self._compute(job, process))

    async def _compute(self, job: Job, process: EngineProcess) -> None:
        try:
            job.answer.set_result(await self._answer(job, process))
        except TimeoutError:
            job.answer.set_exception(_too_slow(job.question))
        except ProcessEnded:
            self._refuse(job, gettext_lazy("The process that computed this has ended."), 503)
        except asyncio.CancelledError:
            process.kill()
            self._refuse(job, _LEFT, 503)
        except Exception as problem:  # noqa: BLE001 those who wait get it, and the pool continues
            job.answer.set_exception(problem)
        finally:
            self._computing.remove(job)
            await self._put_back(process)

    async def _answer(self, job: Job, process: EngineProcess) -> bytes:
        """The answer of *process*, which may have ended since it was used last."""
        run_id, seconds = job.question.run_id, job.question.seconds
        if job.question.of_head:
            patience = LARGE_PATIENCE_SECONDS if job.question.is_large else PATIENCE_SECONDS
            answer = await self._heads.ask(job.request, run_id, seconds, job.add_part, patience)
            if answer is not None:
                return answer
        try:
            return await process.ask(job.request, run_id, seconds, job.add_part)
        except ProcessEnded as ended:
            if ended.begun:
                raise
        await process.renew()
        return await process.ask(job.request, run_id, seconds, job.add_part)

    async def _put_back(self, process: EngineProcess) -> None:
        if process.is_alive:
            self._idle.append(process)
        else:
            with contextlib.suppress(asyncio.CancelledError):
                await process.wait()
        self._dispatch()


def _stop(computing: "asyncio.Task[None]") -> None:
    """Cancel it after its first step: a task that never begins does not clean up either."""
    asyncio.get_running_loop().call_soon(computing.cancel)


def _too_slow(question: Question) -> ApplicationError:
    with translation.override(question.language):
        words = gettext("That takes longer than {seconds} s to compute.")
        return ApplicationError(words.format(seconds=round(question.seconds)), status=504)
