"""The completion indexes of an indexed Job. Upstream: pkg/controller/job/indexed_job_utils.go."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from engine.objects.objects import ApiObject, Pod

INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
UNKNOWN: Final = -1


def is_indexed(job: ApiObject) -> bool:
    """Whether each pod of *job* has an index."""
    return job.spec.get("completionMode") == "Indexed"


def index_of(pod: Pod) -> int:
    """The completion index of *pod*, or UNKNOWN."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else UNKNOWN


def count_in(pod: Pod, annotation: str) -> int:
    """A count that the controller keeps in an annotation of *pod*; 0 without one."""
    text = pod.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else 0


def parse_indexes(text: str, completions: int) -> dict[int, None]:
    """The indexes of a status, such as "0,2-4", below *completions*, in order."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found += range(int(first), min(int(last or first), completions - 1) + 1)
    return dict.fromkeys(sorted(found))


def indexes_text(indexes: Iterable[int]) -> str:
    """As a status has them: "0,2-4"."""
    return ",".join(
        str(first)
        if first == last
        else f"{first},{last}"
        if last == first + 1
        else f"{first}-{last}"
        for first, last in _intervals(sorted(indexes))
    )


def _intervals(indexes: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = UNKNOWN
    for index in indexes:
        if first != UNKNOWN and index == last + 1:
            last = index
            continue
        if first != UNKNOWN:
            yield first, last
        first = last = index
    if first != UNKNOWN:
        yield first, last


def pending_indexes(taken: Iterable[int], completions: int, count: int) -> list[int]:
    """The first *count* indexes that are not *taken*. Upstream: firstPendingIndexes()."""
    known = dict.fromkeys(taken)
    found: list[int] = []
    for index in range(completions):
        if len(found) >= count:
            break
        if index not in known:
            found.append(index)
    return found
