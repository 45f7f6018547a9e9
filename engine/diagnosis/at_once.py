"""The diagnosis of a pod that waits for no scheduler: it is gone, has ended, or has its node."""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.diagnosis.deleted import absence
from engine.diagnosis.report import SEVERITIES, Cause, Diagnosis
from engine.diagnosis.subjects.pods.placed_pods import placed_pod_causes
from engine.diagnosis.subjects.scene import Scene
from engine.framework.names import NOT_MODELLED
from engine.kernel.sentences import Sentence, say
from engine.objects.objects import ApiObject, Pod


def known_at_once(cluster: Cluster, pod_key: str, pod: ApiObject | None) -> Diagnosis | None:
    """The diagnosis of a pod that waits for no scheduler; None for one that does."""
    if not isinstance(pod, Pod):
        return _short(cluster, pod_key, *absence(cluster, Pod.KIND, pod_key))
    if pod.is_terminated:
        return _short(cluster, pod_key, "ended", say("It has ended: {phase}.", phase=pod.phase))
    if pod.node_name:
        return _placed(cluster, pod)
    if pod.deletion_timestamp:
        sentence = say("It is being deleted; no scheduler looks at it any more.")
        return _short(cluster, pod_key, "deleting", sentence)
    need = cluster.scheduler.state.profile.unmodelled_need(pod)
    return _not_modelled(cluster, pod, need) if need else None


def _short(cluster: Cluster, pod_key: str, state: str, sentence: Sentence) -> Diagnosis:
    return Diagnosis(
        pod=pod_key, profile=cluster.profile, at=cluster.now, state=state, sentence=sentence
    )


def _placed(cluster: Cluster, pod: Pod) -> Diagnosis:
    """It has its node: what keeps it from running there, or from leaving."""
    causes = sorted(
        placed_pod_causes(Scene.of(cluster), pod),
        key=_gravity,
    )
    sentence = say("It has its node, {node_name}.", node_name=pod.node_name)
    if causes:
        sentence = causes[0].sentence
    return Diagnosis(
        pod=pod.key,
        profile=cluster.profile,
        at=cluster.now,
        state="placed",
        sentence=sentence,
        causes=tuple(causes),
    )


def _not_modelled(cluster: Cluster, pod: Pod, need: str) -> Diagnosis:
    """kscope itself keeps the pod back: no change of the cluster would help, and none is tried."""
    text = say("{need}.", need=need)
    return Diagnosis(
        pod=pod.key,
        profile=cluster.profile,
        at=cluster.now,
        state="gated",
        sentence=text,
        causes=(Cause(severity="blocks", sentence=text, plugin=NOT_MODELLED),),
        conclusion=say(
            "No change is offered: what a real cluster would do with it is not simulated."
        ),
    )


def _gravity(cause: Cause) -> int:
    return SEVERITIES.index(cause.severity)
