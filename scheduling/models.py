"""Projections of nodes and pods, and the recorded scheduling attempts."""

from django.db import models
from django.utils.translation import gettext_lazy

from kscope.runs.manifests.fields import FlagOfManifest, TextOfManifest
from kscope.runs.models import ProjectedObject, Run

_LABELS = ("metadata", "labels")


class Node(ProjectedObject):
    """A node as the simulated API server holds it."""

    PREFIX = "node"

    unschedulable = FlagOfManifest(("spec", "unschedulable"))
    # Upstream: component-helpers/node/topology, GetZoneKey(): the old label, where the new is absent.
    zone = TextOfManifest(
        (*_LABELS, "topology.kubernetes.io/zone"),
        (*_LABELS, "failure-domain.beta.kubernetes.io/zone"),
    )

    class Meta(ProjectedObject.Meta):
        pass


class Pod(ProjectedObject):
    """A pod as the simulated API server holds it."""

    PREFIX = "pod"

    node_name = TextOfManifest(("spec", "nodeName"))
    nominated_node_name = TextOfManifest(("status", "nominatedNodeName"))
    phase = TextOfManifest(("status", "phase"), default="Pending")
    scheduler_name = TextOfManifest(("spec", "schedulerName"), default="default-scheduler")

    class Meta(ProjectedObject.Meta):
        pass


class Attempt(models.Model):
    """One try to find a node for a pod; `evidence` is zlib over its JSON."""

    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    pod = models.TextField(help_text="NAMESPACE/NAME")
    number = models.IntegerField()
    seq = models.BigIntegerField(help_text=gettext_lazy("of the event that ended it"))
    at = models.BigIntegerField()
    cycle = models.BigIntegerField()
    result = models.TextField()
    node = models.TextField(blank=True)
    evidence = models.BinaryField(null=True)
    run_id: int

    class Meta:
        abstract = True
        ordering = ("run_id", "id")

    def __str__(self) -> str:
        return f"{self.pod} attempt {self.number}: {self.result}"


class RecordedAttempt(Attempt):
    """An attempt as the runner wrote it; forks read those before them: kscope/runs/record/parts.py."""

    class Meta(Attempt.Meta):
        abstract = False
        indexes = (models.Index(fields=("run", "pod", "number"), name="attempt_pod"),)


class SchedulingAttempt(Attempt):
    """An attempt of a run's history, as a view has it: also what came before a fork began."""

    class Meta(Attempt.Meta):
        abstract = False
        managed = False
        db_table = "scheduling_schedulingattempt"
