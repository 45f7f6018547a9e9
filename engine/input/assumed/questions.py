"""Questions that the files leave open, and on which answers about them rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from engine.input.assumed.placeholder import placeholder_sentence
from engine.kernel.sentences import Sentence, enumerated, grouped, say, say_count, together
from engine.objects.manifest_parts import section, wanted_pods

Manifest = dict[str, Any]

NO_NODES: Final = "no-nodes"
_MAKE_PODS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job")


@dataclass(frozen=True, slots=True)
class Question:
    """An open question: what is missing, and how it can be answered, in whole sentences."""

    name: str
    text: Sentence
    answer: Sentence

    def __str__(self) -> str:
        return together(self.text, self.answer)

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return asdict(self)


_HOW_NODES: Final = say(
    "Import the nodes as well (kubectl get nodes -o yaml), or ask for some: --nodes 3xm5.large, or the field Nodes of the form."
)


def questions_of(objects: Sequence[Manifest], steps: Sequence[Mapping[str, Any]]) -> list[Question]:
    """What *objects*, and the *steps* that change them, leave open."""
    made = [step["manifest"] for step in steps if isinstance(step.get("manifest"), dict)]
    everything = [*objects, *made]
    return [*_no_nodes(everything), *_no_classes(everything), *_no_claims(everything)]


def _no_nodes(everything: Sequence[Manifest]) -> Iterator[Question]:
    nodes = [each for each in everything if each["kind"] == "Node"]
    assumed = sum(bool(placeholder_sentence(each)) for each in nodes)
    waiting = sum(each["kind"] == "Pod" and _waits(each) for each in everything)
    wanted = sum(_missing_pods(each, everything) for each in everything)
    if not nodes and waiting + wanted:
        text = say_count(
            "There are no nodes in these files, so the one pod that waits cannot be placed.",
            "There are no nodes in these files, so the {count} pods that wait cannot be placed.",
            waiting + wanted,
            count=grouped(waiting + wanted),
        )
        yield Question(NO_NODES, text, _HOW_NODES)
    elif nodes and assumed == len(nodes):
        text = say_count(
            "There are no nodes in these files; the one that their pods name is assumed. What else "
            "fits on it is not known.",
            "There are no nodes in these files; {count} that their pods name are assumed. What else "
            "fits on them is not known.",
            assumed,
            count=grouped(assumed),
        )
        yield Question(NO_NODES, text, _HOW_NODES)


def _waits(pod: Manifest) -> bool:
    ended = section(pod, "status").get("phase") in ("Succeeded", "Failed")
    return not ended and not section(pod, "spec").get("nodeName")


def _missing_pods(workload: Manifest, everything: Sequence[Manifest]) -> int:
    """How many pods a workload will make; its own are not counted where the files have some."""
    if workload["kind"] not in _MAKE_PODS or workload["metadata"].get("ownerReferences"):
        return 0
    has_pods = any(each["kind"] == "Pod" for each in everything)
    has_status = bool(section(workload, "status"))
    return 0 if has_pods and has_status else max(wanted_pods(workload), 0)


def _no_classes(everything: Sequence[Manifest]) -> Iterator[Question]:
    if any(each["kind"] == "StorageClass" for each in everything):
        return
    waiting = [
        each
        for each in everything
        if each["kind"] == "PersistentVolumeClaim"
        and section(each, "spec").get("storageClassName")
        and not section(each, "spec").get("volumeName")
    ]
    names = sorted({str(section(each, "spec")["storageClassName"]) for each in waiting})
    if not names:
        return
    yield Question(
        "no-storage-classes",
        say_count(
            "There are no StorageClasses in these files, but {count} claim waits for one: {shown}.",
            "There are no StorageClasses in these files, but {count} claims wait for one: {shown}.",
            len(waiting),
            count=grouped(len(waiting)),
            shown=enumerated(names, most=5),
        ),
        say("Import them as well: kubectl get storageclasses -o yaml."),
    )


def _no_claims(everything: Sequence[Manifest]) -> Iterator[Question]:
    if any(each["kind"] == "PersistentVolumeClaim" for each in everything):
        return
    using = sum(
        any(
            section(volume, "persistentVolumeClaim")
            for volume in section(each, "spec").get("volumes") or ()
        )
        for each in everything
        if each["kind"] == "Pod" and _waits(each)
    )
    if using:
        yield Question(
            "no-claims",
            say_count(
                "There are no PersistentVolumeClaims in these files, but {count} pod that waits uses some.",
                "There are no PersistentVolumeClaims in these files, but {count} pods that wait use some.",
                using,
                count=grouped(using),
            ),
            say("Import them as well: kubectl get persistentvolumeclaims -A -o yaml."),
        )
