"""One version of an object, as it is read and answered."""

from dataclasses import dataclass

from engine.objects.objects import Manifest


@dataclass(frozen=True, slots=True)
class Version:
    """An object after the event *seq* that wrote it; the event *created* made the object.

    The manifest is not to be changed.
    """

    seq: int
    manifest: Manifest
    created: int = 0
    is_implied: bool = False
    """Whether the run does not store it: every cluster has it."""

    @property
    def uid(self) -> str:
        """The object's uid, or ""."""
        return str(self.manifest["metadata"].get("uid") or "")
