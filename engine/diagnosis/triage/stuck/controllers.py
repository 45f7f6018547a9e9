"""Who is behind a name: the workload that removes a finalizer, opens a gate, serves a webhook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.diagnosis.observed.evidence import Evidence, entity, key_of
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Phrase,
    Sentence,
    all_of,
    each_of,
    enumerated,
    phrase,
    say,
)
from engine.objects.manifest_parts import items, section, wanted_pods
from engine.objects.objects import Manifest

# The kinds of workloads that act for others.
KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet")
# Parts of a domain that say nothing about who owns it.
_GENERIC: Final = frozenset(
    ("io", "com", "org", "net", "dev", "cloud", "k8s", "x-k8s", "sigs", "kubernetes", "app", "apps")
    + ("csi", "storage", "example", "www", "core", "node", "operator", "controller", "finalizer")
    + ("finalizers", "scheduler", "default")
)
_WORD: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

# Finalizers of Kubernetes itself: who removes each, and when.
FINALIZERS: Final[Mapping[str, Sentence]] = {
    "kubernetes": say("The namespace controller removes it when nothing is left in the namespace."),
    "kubernetes.io/pvc-protection": say(
        "Kube-controller-manager removes it when no pod uses the claim."
    ),
    "kubernetes.io/pv-protection": say(
        "Kube-controller-manager removes it when no claim is bound to it."
    ),
    "foregroundDeletion": say("The garbage collector removes it when all dependents are gone."),
    "orphan": say("The garbage collector removes it when the dependents are orphaned."),
    "batch.kubernetes.io/job-tracking": say(
        "The job controller removes it when it has counted the pod."
    ),
    "service.kubernetes.io/load-balancer-cleanup": say(
        "The cloud controller removes it when the load balancer is gone."
    ),
    "external-provisioner.volume.kubernetes.io/finalizer": say(
        "The driver's external-provisioner removes it when the disk is deleted."
    ),
    "volumesnapshots.snapshot.storage.kubernetes.io/bound-protection": say(
        "Snapshot-controller removes it when nothing is bound to it."
    ),
}
_ATTACHER: Final = "external-attacher/"


def remover_of(finalizer: str, objects: Iterable[Manifest] = ()) -> Sentence:
    """Who removes a finalizer of Kubernetes itself from *objects*, and when; "" for any other."""
    if not finalizer.startswith(_ATTACHER):
        return FINALIZERS.get(finalizer, NOTHING)
    # The finalizer has the driver's name with dashes for dots. Upstream: external-attacher,
    # pkg/controller/util.go, GetFinalizerName().
    named = [section(each, "spec") for each in objects]
    drivers = [str(each.get("attacher") or section(each, "csi").get("driver")) for each in named]
    fitting = (each for each in drivers if each.replace(".", "-") in finalizer.replace(".", "-"))
    driver = next(fitting, finalizer.removeprefix(_ATTACHER))
    return say(
        "The external-attacher of driver {driver} removes it when the volume is detached.",
        driver=driver,
    )


def words_of(name: str) -> list[str]:
    """The telling words of a domain name or path, the most telling first."""
    found = _WORD.findall(name.lower().replace("-", " "))
    return [word for word in dict.fromkeys(found) if word not in _GENERIC and len(word) > 2]


class Role(NamedTuple):
    """What a workload does for others: what is said where it is known, and where it is guessed."""

    known: Phrase
    guessed: Phrase


OPENS_GATE: Final = Role(
    phrase("{workload} opens it ({proof}); {state}."),
    phrase("By its name, {workload} most likely opens it; {state}."),
)
IS_SCHEDULER: Final = Role(
    phrase("{workload} is that scheduler ({proof}); {state}."),
    phrase("By its name, {workload} most likely is that scheduler; {state}."),
)
REMOVES: Final = Role(
    phrase("{workload} removes it ({proof}); {state}."),
    phrase("By its name, {workload} most likely removes it; {state}."),
)
IS_THEIR_DRIVER: Final = Role(
    phrase("{workload} is their driver ({proof}); {state}."),
    phrase("By its name, {workload} most likely is their driver; {state}."),
)
IS_DRIVER: Final = Role(
    phrase("{workload} is the driver {driver} ({proof}); {state}."),
    phrase("By its name, {workload} most likely is the driver {driver}; {state}."),
)
IS_NETWORK: Final = Role(
    phrase("{workload} is the network plugin ({proof}); {state}."),
    phrase("By its name, {workload} most likely is the network plugin; {state}."),
)
IS_THAT_ONE: Final = Role(
    phrase("{workload} is that one ({proof}); {state}."),
    phrase("By its name, {workload} most likely is that one; {state}."),
)
SETS: Final = Role(
    phrase("{workload} sets it ({proof}); {state}."),
    phrase("By its name, {workload} most likely sets it; {state}."),
)
IS_NODE_PLUGIN: Final = Role(
    phrase("{workload} is its node plugin ({proof}); {state}."),
    phrase("By its name, {workload} most likely is its node plugin; {state}."),
)
SERVES: Final = Role(
    phrase("{workload} serves it ({proof}); {state}."),
    phrase("By its name, {workload} most likely serves it; {state}."),
)


@dataclass(frozen=True, slots=True)
class Behind:
    """The workload that is behind a name; `proof` is what in the files shows it, "" for its name alone."""

    workload: Manifest
    proof: Sentence = NOTHING

    @property
    def name(self) -> str:
        """ "deployment kyverno/kyverno"."""
        return entity(self.workload).replace("/", " ", 1)

    @property
    def is_running(self) -> bool:
        """Whether any of its pods is ready."""
        return ready_pods(self.workload) > 0

    def said(self, evidence: Evidence, role: Role, **places: Argument) -> Sentence:
        """A sentence on what it does and how it stands; a guess from names says that it is one."""
        state = _state_of(evidence, self.workload)
        if self.proof:
            name = f"{self.workload['kind']} {key_of(self.workload)}"
            return role.known.say(workload=name, proof=self.proof, state=state, **places)
        return role.guessed.say(workload=self.name, state=state, **places)


def behind(evidence: Evidence, name: str, *hints: str) -> Behind | None:
    """The workload whose pods use a folder of the host called *name*, else the one whose own name fits it best.

    Those that have one of *hints* in their name come first.
    """
    named = [each for each in _workloads(evidence) if _mentions(each, name)]
    if named:
        best = max(named, key=lambda each: (_hinted(each, hints), entity(each)))
        return Behind(best, say("its pods use the folder {name} of the host", name=name))
    for each in _workloads(evidence):
        if each["metadata"]["name"] == name:
            return Behind(each)
    words = words_of(name)
    found = [(_fit(each, words, hints), entity(each), each) for each in _workloads(evidence)]
    best = max(found, key=_by_fit, default=None)
    return Behind(best[2]) if best is not None and best[0] >= _NAMED else None


def _mentions(workload: Manifest, name: str) -> bool:
    """Whether its pods use a folder of the host of exactly that name, as plugins of kubelets do.

    Commands, arguments and environments would tell more, but are left out at the reading.
    """
    return any(
        name in str(section(volume, "hostPath").get("path") or "").split("/")
        for volume in items(section(workload, "spec", "template", "spec"), "volumes")
    )


def _by_fit(entry: tuple[int, str, Manifest]) -> tuple[int, str]:
    return entry[:2]


def _workloads(evidence: Evidence) -> Iterator[Manifest]:
    for kind in KINDS:
        yield from evidence.all(kind)


# A word in the workload's own name counts most, then in its namespace; a hint decides between equals.
_NAMED: Final = 4


def _fit(workload: Manifest, words: list[str], hints: tuple[str, ...]) -> int:
    metadata = workload["metadata"]
    name, namespace = str(metadata["name"]), str(metadata.get("namespace") or "")
    named = sum(_NAMED for word in words if word in name)
    named += sum(_NAMED for word in words if word not in name and word in namespace)
    return named + _hinted(workload, hints) if named else 0


def _hinted(workload: Manifest, hints: tuple[str, ...]) -> int:
    return sum(1 for hint in hints if hint in str(workload["metadata"]["name"]))


def served_by(evidence: Evidence, namespace: str, service: str) -> Behind | None:
    """The workload whose pods a Service selects."""
    found = evidence.find("Service", f"{namespace}/{service}")
    selector = section(found, "spec", "selector") if found is not None else {}
    if not selector:
        return None
    for each in _workloads(evidence):
        labels = section(each, "spec", "template", "metadata", "labels")
        is_there = each["metadata"].get("namespace") == namespace
        if is_there and all(labels.get(key) == value for key, value in selector.items()):
            return Behind(
                each,
                say(
                    "Service {namespace}/{service} selects its pods",
                    namespace=namespace,
                    service=service,
                ),
            )
    return None


def ready_pods(workload: Manifest) -> int:
    """How many of its pods are ready, as its status says."""
    status = section(workload, "status")
    name = "numberReady" if workload["kind"] == "DaemonSet" else "readyReplicas"
    return int(status.get(name) or 0)


def _state_of(evidence: Evidence, workload: Manifest) -> Sentence:
    """How it stands: "it has 0 replicas", "it has 1 of 2 pods ready"."""
    wanted, ready = wanted_pods(workload), ready_pods(workload)
    if wanted == 0 and workload["kind"] == "DaemonSet":
        labels = _labels_of_no_node(evidence, workload)
        if labels:
            return say(
                "it runs nowhere: it selects nodes with {labels}, which no node has", labels=labels
            )
        return say("it wants no pod on any node")
    if wanted == 0:
        return say("it has 0 replicas")
    return say("it has {ready} of {wanted} pods ready", ready=ready, wanted=wanted)


def stands(evidence: Evidence, workload: Manifest) -> Sentence:
    """The same with its name: "Deployment shop/web has 0 replicas"."""
    name = f"{workload['kind']} {key_of(workload)}"
    wanted, ready = wanted_pods(workload), ready_pods(workload)
    if wanted == 0 and workload["kind"] == "DaemonSet":
        labels = _labels_of_no_node(evidence, workload)
        if labels:
            return say(
                "{workload} runs nowhere: it selects nodes with {labels}, which no node has",
                workload=name,
                labels=labels,
            )
        return say("{workload} wants no pod on any node", workload=name)
    if wanted == 0:
        return say("{workload} has 0 replicas", workload=name)
    return say(
        "{workload} has {ready} of {wanted} pods ready", workload=name, ready=ready, wanted=wanted
    )


def _labels_of_no_node(evidence: Evidence, workload: Manifest) -> Sentence:
    """The labels that a DaemonSet selects nodes by, where no node has them."""
    selector = section(workload, "spec", "template", "spec", "nodeSelector")
    if not selector or _selects_any(evidence, selector):
        return NOTHING
    return enumerated([f"{key}={value}" for key, value in sorted(selector.items())])


def _selects_any(evidence: Evidence, selector: Manifest) -> bool:
    return any(
        all(
            section(node, "metadata", "labels").get(key) == value for key, value in selector.items()
        )
        for node in evidence.all("Node")
    )


def stale_lease(evidence: Evidence, workload: Manifest) -> Sentence:
    """The Lease in its namespace that was not renewed, in a sentence; "" for none."""
    namespace = workload["metadata"].get("namespace")
    for lease in evidence.all("Lease"):
        spec = section(lease, "spec")
        age = evidence.age_seconds(str(spec.get("renewTime") or ""))
        if lease["metadata"].get("namespace") != namespace:
            continue
        if age > 2 * int(spec.get("leaseDurationSeconds") or 15):
            return say(
                "Lease {lease} was last renewed {minutes} min before.",
                lease=key_of(lease),
                minutes=age // 60,
            )
    return NOTHING


def owners_text(names: list[str], most: int = 3) -> Sentence:
    """Workloads in a sentence: "deployment ml/embed"."""
    texts = [name.replace("/", " ", 1) for name in names]
    return all_of(texts, most) if len(texts) > most else each_of(texts)
