"""What a check finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not agree: of what (the id of an object, where it is one), and how."""

    subject: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.sentence}"


def difference(subject: str, *, cached: str, stored: str) -> Finding:
    """A finding about two values of one thing."""
    return Finding(subject, f"the cache has {cached}, the store {stored}")
