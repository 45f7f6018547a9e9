"""When a component receives the API server's answers to its writes."""

from engine.api_server.store.faults import ApiFaults
from engine.kernel.loop import EventLoop
from engine.objects.objects import ApiObject


class Answers:
    """Until when an author waits for the answers to the writes it has made, in ns.

    Its next step comes after that. In the past unless writes are slow.
    """

    __slots__ = ("until",)

    def __init__(self) -> None:
        self.until = 0


class AnswerTimes:
    """When each write is answered, which is also when watches and the record first show it.

    Every write is answered at once unless a fault makes writes slow. `faults` is None until the
    first fault.
    """

    __slots__ = ("_answered", "_authors", "_callback", "_loop", "_seen_at", "faults")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.faults: ApiFaults | None = None
        # The authors that make their writes one after the other.
        self._authors: dict[str, Answers] = {}
        # When what an author wrote in one callback (its step and author) is answered.
        self._callback = (-1, "")
        self._answered = 0
        # When the last slow write of an object is shown, by id.
        self._seen_at: dict[str, int] = {}

    def of(self, author: str) -> Answers:
        """Until when *author* waits. An author that calls this makes its writes one after the other."""
        return self._authors.setdefault(author, Answers())

    def forget(self, author: str) -> None:
        """*author* has died; later writes in its name do not wait for earlier ones."""
        self._authors.pop(author, None)

    def answered_at(self, author: str) -> int:
        """When what *author* has written in the current callback is answered; now if nothing."""
        if self.faults is not None and self._callback == (self._loop.steps, author):
            return max(self._answered, self._loop.now)
        return self._loop.now

    def due(self, obj: ApiObject, author: str) -> int:
        """When a write of *obj* that *author* makes now is answered.

        A slow write is shown late. Later writes of the same object are not shown before it, and the
        author's own next write waits for its answer.
        """
        now = self._loop.now
        if self.faults is None or not self.faults.slows:
            return now
        waits = self._authors.get(author)
        start = max(self.answered_at(author), now if waits is None else waits.until)
        at = start + self.faults.slowness(obj.kind, author)
        at = max(at, self._seen_at.get(obj.id, 0))
        self._callback, self._answered = (self._loop.steps, author), at
        if waits is not None:
            waits.until = at
        if at > now:
            self._seen_at[obj.id] = at
        else:
            self._seen_at.pop(obj.id, None)
        return at
