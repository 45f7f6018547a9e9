"""Carries a change of triage out by its commands, as a page does in a fork of the run."""

from collections.abc import Iterator

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.fork import CopiedForks
from engine.diagnosis.triage.report import Change, Group
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject, Pod


def placed_by_commands(cluster: Cluster, group: Group, change: Change, seconds: int = 60) -> int:
    """How many more pods of a group have a node some time after the commands of a change."""
    before = sum(1 for _ in _placed(cluster, group))
    fork = CopiedForks(cluster)

    def carry_out(copy: Cluster) -> int:
        for body in change.commands:
            outcome = copy.apply(Command.from_dict(body))
            assert outcome.applied, outcome.reason
        copy.advance(seconds * SECOND)
        return sum(1 for _ in _placed(copy, group))

    return fork.run(carry_out) - before


def _placed(cluster: Cluster, group: Group) -> Iterator[Pod]:
    """The pods with a node that the group names, or that belong to its workloads."""
    for pod in cluster.store.objects("Pod"):
        if not isinstance(pod, Pod) or not pod.node_name or pod.deletion_timestamp:
            continue
        if pod.key in group.pods or _top(cluster, pod) in group.workloads:
            yield pod


def _top(cluster: Cluster, obj: ApiObject) -> str:
    owner = next((each for each in obj.owner_references if each.get("controller")), None)
    if owner is None:
        return obj.id
    key = f"{obj.namespace}/{owner.get('name')}"
    above = cluster.store.find(str(owner.get("kind")), key)
    return _top(cluster, above) if above is not None else f"{str(owner.get('kind')).lower()}/{key}"
