"""The changes that would have shortened the path of a pod, each tried in a fork (docs/timeline.md)."""

from dataclasses import asdict, dataclass
from typing import Any

from engine.diagnosis.path.shorter import changes_of
from engine.diagnosis.path.trying import Tried, tried
from kscope.runs.models import Run
from scheduling.paths import read_path
from scheduling.selectors import cluster_at

# Forks are tried on clusters of so many objects, and so many of the changes.
_MOST_OBJECTS, _MOST_TRIED = 2_000, 3


@dataclass(frozen=True, slots=True)
class PathTrials:
    """What came of the changes of a path, as it was after event `seq`, in forks."""

    run: int
    seq: int
    pod: str
    tried: tuple[Tried, ...]


def tried_by_id(run_id: int, pod: str, seq: int | None) -> dict[str, Any]:
    """What came of the changes that would have shortened the path of "NS/NAME", each in a fork.

    None are tried where the pod is not bound yet, or where the cluster is so large that a fork is
    dear. Raises ApplicationError as `pod_path`.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    record, path = read_path(run, pod, seq)
    bound = next((each for each in record.of_object(path.pod) if each.kind == "PodBound"), None)
    found: list[Tried] = []
    if bound is not None and run.head_objects <= _MOST_OBJECTS:
        changes = changes_of(record, path.pod, path.steps, born=path.born)
        for change in [each for each in changes if each.commands][:_MOST_TRIED]:
            outcome = tried(change, pod, bound.at, lambda after: cluster_at(run, after))
            found += [outcome] if outcome else []
    return asdict(PathTrials(run.pk, record.seq, path.pod, tuple(found)))
