"""What the files themselves say about their objects: conditions, Events, owners, the newest time.

How to ask: `Evidence.of` a LoadResult; then `find` an object by kind and key, `events` about it, `has` a kind ("no Secrets are in these files"), and `instant`.
Nothing here changes afterwards: what is simulated stands in the cluster's store, and never here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from engine.api_server.validation.kinds import KINDS
from engine.input.assumed.placeholder import placeholder_sentence
from engine.input.assumed.questions import Question, questions_of
from engine.input.instants import is_time, moment, newest_of
from engine.input.load_result import LoadResult
from engine.input.sources.versions import Told, versions_told
from engine.kernel.sentences import Sentence, say, verbatim
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """One Event about one object, with the times of its first and last occurrence."""

    kind: str
    key: str
    reason: str
    message: str
    count: int
    first: str
    last: str
    component: str
    is_warning: bool

    @property
    def text(self) -> str:
        """Reason and message."""
        return f"{self.reason}: {self.message}"


def key_of(manifest: Manifest) -> str:
    """ "namespace/name", or the name alone of what has no namespace."""
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


class Evidence:
    """The manifests of the files, those that kscope plays and those that it keeps aside.

    Only the names of Secrets and ConfigMaps are kept: their data are dropped at the reading.
    `instant` is the newest time in the files, in RFC 3339 and whole seconds; "" where they name none.
    """

    def __init__(
        self, manifests: Collection[Manifest], newest_write: str = "", *, instant: str = ""
    ) -> None:
        """*newest_write* is the newest time of the managed fields, which the manifests lack.

        *instant* is given where the newest time of all is known already.
        """
        self._objects: dict[str, dict[str, Manifest]] = {}
        # The API group to which the bare name of a custom kind belongs: the first that has it.
        self._groups: dict[str, str] = {}
        self._events: dict[tuple[str, str], list[SeenEvent]] = {}
        self._by_namespace: dict[str, dict[object, list[Manifest]]] = {}
        for each in manifests:
            if each["kind"] == "Event":
                event = _seen(each)
                self._events.setdefault((event.kind, event.key), []).append(event)
            else:
                self._add(each)
        for found in self._events.values():
            found.sort(key=_last)
        self.instant = instant or newest_of(manifests, newest_write)

    def _add(self, manifest: Manifest) -> None:
        """Keep an object under its kind; with its group where another group has that kind."""
        kind, group = manifest["kind"], str(manifest.get("apiVersion") or "").rpartition("/")[0]
        is_custom = "." in group and not group.endswith(".k8s.io")
        if is_custom and (kind in KINDS or self._groups.setdefault(kind, group) != group):
            kind = f"{kind}.{group}"
        self._objects.setdefault(kind, {})[key_of(manifest)] = manifest

    @classmethod
    def of(cls, loaded: LoadResult) -> Self:
        """What loaded files say."""
        return cls(loaded.everything, loaded.newest_write, instant=loaded.newest)

    def find(self, kind: str, key: str) -> Manifest | None:
        """The manifest, or None where the files have none."""
        return self._objects.get(kind, {}).get(key)

    def all(self, kind: str) -> Iterable[Manifest]:
        """Every manifest of a kind, in the order of the files."""
        return self._objects.get(kind, {}).values()

    def everything(self) -> Iterator[Manifest]:
        """Every manifest but Events, kind by kind."""
        for of_kind in self._objects.values():
            yield from of_kind.values()

    @property
    def kinds(self) -> list[str]:
        """The kinds of which the files have objects, Events aside."""
        return list(self._objects)

    def kind_named(self, word: str) -> str:
        """The kind that is *word* in whatever case; "" where the files have no object of it."""
        return next((kind for kind in self._objects if kind.lower() == word.lower()), "")

    def has(self, kind: str) -> bool:
        """Whether the files have any object of a kind."""
        return bool(self._objects.get(kind))

    def in_namespace(self, kind: str, namespace: object) -> list[Manifest]:
        """Every manifest of a kind in a namespace, in the order of the files."""
        if kind not in self._by_namespace:
            found: dict[object, list[Manifest]] = {}
            for each in self.all(kind):
                found.setdefault(each["metadata"].get("namespace"), []).append(each)
            self._by_namespace[kind] = found
        return self._by_namespace[kind].get(namespace, [])

    def users(self, claim_key: str) -> list[Manifest]:
        """The pods that use a PersistentVolumeClaim, in the order of the files."""
        return self._users.get(claim_key, [])

    @cached_property
    def questions(self) -> list[Question]:
        """What the files leave open, and what answers about them rest on."""
        return questions_of(list(self.everything()), ())

    @cached_property
    def assumed(self) -> dict[str, str]:
        """Why each object is assumed that the files name and do not hold: "node/n1", "persistentvolume/pv-1"."""
        return {
            entity(each): sentence
            for each in self.everything()
            if (sentence := placeholder_sentence(each))
        }

    @cached_property
    def pods_under_way(self) -> list[Manifest]:
        """The pods that have not ended, in the order of the files."""
        return list(filter(is_under_way, self.all("Pod")))

    @cached_property
    def pods_by_controller(self) -> dict[tuple[str, str], list[Manifest]]:
        """The same by kind and key of the object that controls them, ("", "") for none."""
        found: dict[tuple[str, str], list[Manifest]] = {}
        for pod in self.pods_under_way:
            reference = controller_reference(pod)
            key = "", ""
            if reference is not None:
                namespace = pod["metadata"].get("namespace")
                key = str(reference.get("kind")), f"{namespace}/{reference.get('name')}"
            found.setdefault(key, []).append(pod)
        return found

    @cached_property
    def _users(self) -> dict[str, list[Manifest]]:
        found: dict[str, list[Manifest]] = {}
        for pod in self.all("Pod"):
            for key in dict.fromkeys(claims_of(pod)):
                found.setdefault(key, []).append(pod)
        return found

    def attachments(self, volume: str) -> list[Manifest]:
        """The VolumeAttachments of a PersistentVolume, in the order of the files."""
        return self._attachments.get(volume, [])

    @cached_property
    def _attachments(self) -> dict[str, list[Manifest]]:
        found: dict[str, list[Manifest]] = {}
        for each in self.all("VolumeAttachment"):
            name = str(section(each, "spec", "source").get("persistentVolumeName"))
            found.setdefault(name, []).append(each)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """The number of objects of each kind, by kind; Events among them."""
        counts = {kind: len(found) for kind, found in self._objects.items()}
        events = sum(map(len, self._events.values()))
        return dict(sorted((counts | ({"Event": events} if events else {})).items()))

    def versions_told(self, served: str) -> Told:
        """Which versions of Kubernetes the files tell; *served*: what the API server said."""
        return versions_told((*self.all("Pod"), *self.all("Node")), served)

    @property
    def has_events(self) -> bool:
        """Whether the files have any Event."""
        return bool(self._events)

    def all_events(self) -> Iterator[SeenEvent]:
        """Every Event, whatever it is about."""
        for found in self._events.values():
            yield from found

    def events(self, manifest: Manifest, *reasons: str) -> list[SeenEvent]:
        """The Events about an object, the newest last; only those with one of *reasons*, if given."""
        found = self._events.get((manifest["kind"], key_of(manifest)), [])
        return [each for each in found if not reasons or each.reason in reasons]

    def controller(self, manifest: Manifest) -> Manifest | None:
        """The object that controls another, where it is in the files."""
        reference = controller_reference(manifest)
        if reference is None:
            return None
        namespace = manifest["metadata"].get("namespace")
        name = str(reference.get("name"))
        kind = str(reference.get("kind"))
        return self.find(kind, f"{namespace}/{name}") or self.find(kind, name)

    def workload(self, manifest: Manifest) -> str:
        """The workload that one would change, "deployment/shop/web"; "" for an object without one.

        It is named from the reference where the files do not have it.
        """
        found, above = manifest, self.controller(manifest)
        while above is not None:
            found, above = above, self.controller(above)
        reference = controller_reference(found)
        if reference is not None:
            # A ReplicaSet that is not in the files is called after its Deployment.
            namespace = found["metadata"].get("namespace")
            return _entity(str(reference.get("kind")), f"{namespace}/{reference.get('name')}")
        return "" if found is manifest else _entity(found["kind"], key_of(found))

    def workloads(self, manifests: Iterable[Manifest]) -> list[str]:
        """The workloads of some objects, each once."""
        found = [self.workload(each) for each in manifests]
        return list(dict.fromkeys(each for each in found if each))

    def age_seconds(self, since: str) -> int:
        """The seconds from *since* to the instant of the files; 0 where either is not known."""
        if not is_time(since) or not self.instant:
            return 0
        return int((moment(self.instant) - moment(since)).total_seconds())


def told_by(events: Sequence[SeenEvent], reason: str, message: str) -> Sentence:
    """What Events say, how often they came in all, and when the last did: "Failed ×7, last …: …"."""
    message = message.rstrip(": ")
    if not events:
        return (
            say("{reason}: {message}", reason=reason, message=message)
            if message
            else verbatim(reason)
        )
    times, last = sum(each.count for each in events), max(each.last for each in events)
    if not message:
        return say("{reason} ×{times}, last {last}", reason=reason, times=times, last=last)
    return say(
        "{reason} ×{times}, last {last}: {message}",
        reason=reason,
        times=times,
        last=last,
        message=message,
    )


def entity(manifest: Manifest) -> str:
    """An object as triage names it: "deployment/shop/web"."""
    return _entity(manifest["kind"], key_of(manifest))


def _entity(kind: str, key: str) -> str:
    return f"{kind.lower()}/{key}"


def claims_of(pod: Manifest) -> list[str]:
    """The keys of the claims that a pod uses."""
    namespace = pod["metadata"].get("namespace")
    return [
        f"{namespace}/{volume['persistentVolumeClaim'].get('claimName')}"
        for volume in section(pod, "spec").get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    ]


def controller_reference(manifest: Manifest) -> Manifest | None:
    """The owner reference that says who controls an object."""
    for each in manifest["metadata"].get("ownerReferences") or ():
        if each.get("controller"):
            return each
    return None


def condition(manifest: Manifest, kind: str) -> Manifest | None:
    """The condition of that type in an object's status."""
    found = items(section(manifest, "status"), "conditions")
    return next((each for each in found if each.get("type") == kind), None)


def is_under_way(pod: Manifest) -> bool:
    """Whether a pod has not ended."""
    return section(pod, "status").get("phase") not in ("Succeeded", "Failed")


def is_ready(manifest: Manifest) -> bool:
    """Whether the condition Ready of a pod or node is True."""
    ready = condition(manifest, "Ready")
    return ready is not None and ready.get("status") == "True"


def _last(event: SeenEvent) -> str:
    return event.last


def _seen(raw: Manifest) -> SeenEvent:
    """Events of both API groups. Upstream: k8s.io/api core/v1 Event, events/v1 Event."""
    about = section(raw, "involvedObject") or section(raw, "regarding")
    series = section(raw, "series")
    created = str(raw["metadata"].get("creationTimestamp") or "")
    first = raw.get("firstTimestamp") or raw.get("deprecatedFirstTimestamp") or raw.get("eventTime")
    last = series.get("lastObservedTime") or raw.get("lastTimestamp")
    last = last or raw.get("deprecatedLastTimestamp") or raw.get("eventTime")
    namespace, name = about.get("namespace"), about.get("name")
    source = section(raw, "source") or section(raw, "deprecatedSource")
    component = raw.get("reportingComponent") or raw.get("reportingController")
    return SeenEvent(
        kind=str(about.get("kind")),
        key=f"{namespace}/{name}" if namespace else str(name),
        reason=str(raw.get("reason") or ""),
        message=str(raw.get("message") or raw.get("note") or ""),
        count=int(series.get("count") or raw.get("count") or raw.get("deprecatedCount") or 1),
        first=str(first or created),
        last=str(last or created),
        component=str(component or source.get("component") or ""),
        is_warning=raw.get("type") == "Warning",
    )
