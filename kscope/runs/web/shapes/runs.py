"""What is said of a run beside its own fields."""

from typing import Literal, TypedDict


class ImportedFile(TypedDict):
    """The file that a run came as, and what came of playing it again: docs/run-file.md."""

    verdict: Literal["playing", "same", "parted"]
    digest: str
    """that the file says"""
    events: int
    written_by: str
    """the version of kscope that wrote the file"""
    withheld: list[str]
    """what whoever exported it was not to see"""
    parted_seq: int | None
    """the first event that came out otherwise"""
    mine: str
    """its text here"""
    theirs: str | None
    """its text in the file; null where the file does not say it"""
