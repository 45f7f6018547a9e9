"""The diagnosis of a pod whose scheduler does not exist, does not run, or does not lead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.cluster.cluster import Cluster
from engine.cluster.replicas import SchedulerReplicas
from engine.diagnosis.candidates import Candidate, replaced
from engine.diagnosis.fork import Forks
from engine.diagnosis.report import Cause, Diagnosis
from engine.diagnosis.trials import Trials, seconds
from engine.framework.explaining.fact import fact
from engine.kernel.sentences import enumerated, say
from engine.objects.objects import Pod


class NoScheduler:
    """Explains a pod that waits for a scheduler of a name that the cluster does not have."""

    def __init__(self, cluster: Cluster, pod: Pod, forks: Forks) -> None:
        self._cluster = cluster
        self._pod = pod
        self._trials = Trials(cluster, pod, forks)

    def diagnoses(self) -> Iterator[Diagnosis]:
        """The cause, then what would help."""
        found = Diagnosis(
            pod=self._pod.key,
            profile=self._cluster.profile,
            at=self._cluster.now,
            state="unminded",
            sentence=self._cause.sentence,
            causes=(self._cause,),
        )
        yield found
        outlook = self._trials.look_ahead()
        fix = self._trials.first_that_helps(self._other_names(), None)
        fixes = [] if fix is None else [fix]
        yield replace(
            found,
            outlook=outlook,
            fixes=tuple(fixes),
            tried=tuple(self._trials.tried.items()),
            conclusion=self._trials.conclusion(fixes),
        )

    @property
    def _cause(self) -> Cause:
        wanted, known = self._pod.scheduler_name, enumerated(self._known)
        text = say("The pod has schedulerName {wanted}.", wanted=wanted)
        return Cause(
            severity="blocks",
            sentence=say(
                "No scheduler has the name {wanted}; the cluster has {known}.",
                wanted=wanted,
                known=known,
            ),
            why=say(
                "The schedulerName of the pod is {wanted}, and other schedulers ignore such pods.",
                wanted=wanted,
            ),
            because=(fact(self._pod, ("spec", "schedulerName"), text, compared_with=self._known),),
        )

    @property
    def _known(self) -> list[str]:
        return sorted({name for each in self._cluster.schedulers for name in each.names})

    def _other_names(self) -> Iterator[Candidate]:
        for name in self._known:
            text = say("Give it the schedulerName {name}", name=name)
            fields = {"schedulerName": name}
            yield replaced(self._pod, fields, kind="scheduler", text=text)


def leaderless_cause(replicas: SchedulerReplicas) -> Cause:
    """Why the pods of a scheduler are not tried: it does not run, or waits for its Lease."""
    following = replicas.next_leader
    if following is None:
        names = enumerated(replicas.identities)
        return Cause(
            severity="blocks", sentence=say("No scheduler is running: {names}.", names=names)
        )
    identity, at = following
    return Cause(
        severity="delays",
        sentence=say(
            "No scheduler leads: {identity} waits for the Lease and takes it at {time}.",
            identity=identity,
            time=seconds(at),
        ),
        why=say("The one that led does not renew the Lease any more; it has to run out first."),
    )
