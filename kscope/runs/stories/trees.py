"""The runs of a scenario as a tree: each fork below the run that it was forked from."""

from collections import defaultdict
from collections.abc import Iterable

from kscope.runs.models import HistoryPart, Run

MOST_BRANCHES = 12  # before a name; what is deeper stands as far in as that


def in_tree_order(runs: Iterable[Run]) -> list[tuple[Run, range]]:
    """*runs* with the branches before each, the newest root first, forks by the event at which they begin.

    Where a parent is not among them, hidden or deleted, a fork stands below the nearest ancestor
    that is.
    """
    known = {run.pk: run for run in runs}
    below: defaultdict[int | None, list[Run]] = defaultdict(list)
    ancestors = _ancestors(known)
    for run in known.values():
        parents = [*ancestors[run.pk], run.parent_id or 0]
        below[max((each for each in parents if each in known), default=None)].append(run)
    found: list[tuple[Run, range]] = []
    waiting = [(run, 0) for run in sorted(below[None], key=lambda run: run.pk)]
    while waiting:
        run, depth = waiting.pop()
        found.append((run, range(min(depth, MOST_BRANCHES))))
        forks = sorted(below[run.pk], key=lambda fork: (fork.forked_at or 0, fork.pk))
        waiting += [(fork, depth + 1) for fork in reversed(forks)]
    return found


def _ancestors(known: dict[int, Run]) -> defaultdict[int, list[int]]:
    """Of each run those of which it reads, or did before they were deleted."""
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for run_id, source in HistoryPart.objects.filter(run_id__in=known).values_list(
        "run_id", "source"
    ):
        parts[run_id].append(source)
    return parts
