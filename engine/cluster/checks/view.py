"""View against engine: do pages show what the engine holds?

The view state is folded from the changes that components report. Here it is compared with what the
same components hold.
"""

from collections.abc import Iterator
from copy import deepcopy

from engine.cluster.checks.finding import Finding
from engine.cluster.cluster import Cluster
from engine.kernel.view import State, fold

_NO_VOLUMES = {"volumes": None, "attachments": None}


def view_differences(cluster: Cluster) -> list[Finding]:
    """Each attribute that is shown otherwise than it is, and what is shown though it is gone."""
    view = _shown(cluster)
    return [*_different_attributes(view, cluster.held_view()), *_gone_objects(view, cluster)]


def _shown(cluster: Cluster) -> State:
    """The view state after the newest event, also of events that have not been taken yet."""
    untaken = cluster.untaken
    if not untaken:
        return cluster.view()
    view = deepcopy(cluster.view())
    for event in untaken:
        if event.changes:
            fold(view, event.changes)
    return view


def _different_attributes(view: State, held: State) -> Iterator[Finding]:
    for entity, attributes in held.items():
        shown = view.get(entity, {})
        expected = {**_NO_VOLUMES, **attributes} if entity.startswith("node/") else attributes
        for name, value in expected.items():
            if shown.get(name) != value:
                sentence = f"{name} is shown as {shown.get(name)!r}, and is {value!r}"
                yield Finding(entity, sentence)


def _gone_objects(view: State, cluster: Cluster) -> Iterator[Finding]:
    """Only objects have a time of creation in the view."""
    store = cluster.store
    stored = {obj.id for kind in store.kinds() for obj in store.objects(kind)}
    for entity, shown in view.items():
        if "created" in shown and entity not in stored:
            yield Finding(entity, "is shown, and the store does not have it")
