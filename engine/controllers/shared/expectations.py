"""The creations and deletions of a controller that its informers have not delivered yet.

Upstream: pkg/controller/controller_utils.go (UIDTrackingControllerExpectations).
"""

from engine.kernel.loop import EventLoop
from engine.kernel.units import MINUTE

# After this long the controller believes its informers again.
TIMEOUT = 5 * MINUTE


class _Expected:
    __slots__ = ("at", "creations", "deletions")

    def __init__(self, at: int) -> None:
        self.at = at
        self.creations = 0
        self.deletions: dict[str, None] = {}


class Expectations:
    """Creations and deletions, per controller key, still to be seen."""

    __slots__ = ("_expected", "_loop")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._expected: dict[str, _Expected] = {}

    def expect(self, key: str, creations: int, deletions: list[str]) -> None:
        """*creations* pods, and the deletion of the pods of these keys, are to be seen."""
        expected = self._expected[key] = _Expected(self._loop.now)
        expected.creations = creations
        expected.deletions = dict.fromkeys(deletions)

    def created(self, key: str, count: int = 1) -> None:
        """Creations were observed, or have failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations = max(0, expected.creations - count)

    def deleted(self, key: str, pod: str) -> None:
        """The deletion of *pod* was seen."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.pop(pod, None)

    def satisfied(self, key: str) -> bool:
        """Whether everything was seen, or so much time has passed that it never will be."""
        expected = self._expected.get(key)
        if expected is None or not (expected.creations or expected.deletions):
            return True
        return self._loop.now - expected.at > TIMEOUT

    def forget(self, key: str) -> None:
        """The controller's object is gone."""
        self._expected.pop(key, None)
