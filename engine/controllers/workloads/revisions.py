"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had.

Upstream: pkg/controller/history/controller_history.go.
"""

from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.controllers.shared.listers import WorkloadListers
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref, is_controlled_by
from engine.controllers.shared.pods import filled_template, plain_template
from engine.objects.naming import revision_hash, template_hash
from engine.objects.objects import ApiObject, Manifest, from_manifest

REVISION_LABEL: Final = "controller-revision-hash"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
HISTORY_LIMIT: Final = 10


class Revisions:
    """Finds and makes the revisions of one controller's objects."""

    __slots__ = ("_by", "_listers", "_store")

    def __init__(self, store: ObjectStore, listers: WorkloadListers, by: str) -> None:
        self._store = store
        self._listers = listers
        self._by = by

    def of(self, owner: ApiObject) -> list[ApiObject]:
        """The revisions of *owner*, oldest first."""
        found = [
            each
            for each in self._listers.of("ControllerRevision").controlled_by(owner)
            if is_controlled_by(each, owner)
        ]
        return sorted(found, key=_number)

    def newest(self, owner: ApiObject) -> ApiObject:
        """The revision of the template that *owner* has now, made or renumbered if need be."""
        known = self.of(owner)
        template: Manifest = part(owner.spec, "template")
        wanted = plain_template(template)
        equal = [each for each in known if plain_template(_template_of(each)) == wanted]
        if known and not equal:
            wanted = filled_template(template)
            equal = [each for each in known if filled_template(_template_of(each)) == wanted]
        number = 1 + (_number(known[-1]) if known else 0)
        if not equal:
            return self._make(owner, template, number)
        newest = equal[-1]
        if newest is known[-1]:
            return newest
        # A rollback: the old revision becomes the newest.
        return self._store.update(newest.patched({"revision": number}), by=self._by)

    def trim(self, owner: ApiObject, live: set[str]) -> None:
        """Delete the oldest revisions beyond the history limit that are not *live*."""
        limit = owner.spec.get("revisionHistoryLimit")
        limit = HISTORY_LIMIT if limit is None else limit
        idle = [each for each in self.of(owner) if each.name not in live]
        for each in idle[: max(0, len(idle) - limit)]:
            self._store.delete(each.kind, each.key, by=self._by)

    def _make(self, owner: ApiObject, template: Manifest, number: int) -> ApiObject:
        data: Manifest = {"spec": {"template": {"$patch": "replace", **template}}}
        collisions = owner.status.get("collisionCount")
        labels: Manifest = dict(part(template, "metadata", "labels"))
        if owner.kind == "StatefulSet":
            label = (number == 1 and _hash_in_status(owner)) or revision_hash(data, collisions or 0)
            labels[HASH_LABEL] = label
        else:
            label = template_hash(plain_template(template), collisions)
            labels[REVISION_LABEL] = label
        name = f"{owner.name}-{label}"
        taken = self._store.find("ControllerRevision", f"{owner.namespace}/{name}")
        if taken is not None and is_controlled_by(taken, owner):
            # Just created; the informer does not have it yet.
            return taken
        metadata: Manifest = {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels,
            "ownerReferences": [controller_ref(owner)],
        }
        if owner.annotations:
            metadata["annotations"] = dict(owner.annotations)
        manifest: Manifest = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": metadata,
            "data": data,
            "revision": number,
        }
        return self._store.create(from_manifest(manifest), by=self._by)


def revision_template(revision: ApiObject, owner: ApiObject) -> Manifest:
    """The pod template of *revision*; the owner's own when the revision does not hold it."""
    return _template_of(revision) or part(owner.spec, "template")


def _hash_in_status(owner: ApiObject) -> str:
    """What its cluster called the revision of its template, or "".

    A dump's revisions are not read, and values that are left out of its template were hashed, too.
    """
    status, prefix = owner.status, f"{owner.name}-"
    name: str = status.get("updateRevision") or ""
    if status.get("observedGeneration") != owner.metadata.get("generation"):
        return ""
    return name.removeprefix(prefix) if name.startswith(prefix) else ""


def _template_of(revision: ApiObject) -> Manifest:
    data: Manifest = part(revision.raw, "data")
    template: Manifest = part(data, "spec", "template")
    return {name: value for name, value in template.items() if name != "$patch"}


def _number(revision: ApiObject) -> int:
    return revision.raw.get("revision") or 0
