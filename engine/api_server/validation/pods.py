"""Rules for the spec of a pod, and for the template of a workload."""

from __future__ import annotations

from typing import Any

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    Rule,
    boolean,
    dns_label,
    driver_name,
    fields,
    integer,
    label_selector,
    labels,
    list_of,
    node_selector,
    node_selector_term,
    one_of,
    qualified_name,
    reference,
    subdomain,
    text,
)
from engine.api_server.validation.shared import (
    any_integer,
    any_mapping,
    labels_and_annotations,
    quantities,
    texts,
)
from engine.api_server.validation.storage import CLAIM_SPEC, disk_sources
from engine.objects.documents import Path
from engine.objects.manifest_parts import section
from engine.objects.scripts.reading import SCRIPT_ANNOTATION, read_annotation


def _empty_or_label(value: Any, path: Path, report: Report) -> None:
    if value != "":
        dns_label(value, path, report)


taint_effect = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
preemption_policy = one_of("PreemptLowerPriority", "Never")
_node_policy = one_of("Honor", "Ignore")

_pod_term = fields(
    ("topologyKey",),
    topologyKey=text,
    labelSelector=label_selector,
    namespaceSelector=label_selector,
    namespaces=texts,
    matchLabelKeys=texts,
    mismatchLabelKeys=texts,
)
_pod_affinity = fields(
    requiredDuringSchedulingIgnoredDuringExecution=list_of(_pod_term),
    preferredDuringSchedulingIgnoredDuringExecution=list_of(
        fields(("weight", "podAffinityTerm"), weight=integer(1, 100), podAffinityTerm=_pod_term)
    ),
)
_affinity = fields(
    nodeAffinity=fields(
        requiredDuringSchedulingIgnoredDuringExecution=node_selector,
        preferredDuringSchedulingIgnoredDuringExecution=list_of(
            fields(("weight",), weight=integer(1, 100), preference=node_selector_term)
        ),
    ),
    podAffinity=_pod_affinity,
    podAntiAffinity=_pod_affinity,
)
tolerations = list_of(
    fields(
        key=text,
        operator=one_of("", "Exists", "Equal", "Lt", "Gt"),
        value=text,
        effect=one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
        tolerationSeconds=any_integer,
    )
)
_resources = fields(requests=quantities, limits=quantities)
_container = fields(
    ("name",),
    name=text,
    image=text,
    imagePullPolicy=text,
    # Of a container's own only Always means something here: a sidecar.
    restartPolicy=one_of("", "Always", "OnFailure", "Never"),
    resources=_resources,
    volumeMounts=list_of(fields(("name",), name=text, mountPath=text, readOnly=boolean)),
    volumeDevices=list_of(fields(("name",), name=text, devicePath=text)),
    ports=list_of(
        fields(
            hostPort=integer(0, 65535),
            containerPort=integer(1, 65535),
            hostIP=text,
            protocol=one_of("TCP", "UDP", "SCTP"),
        )
    ),
)
POD_SPEC = fields(
    ("containers",),
    containers=list_of(_container, at_least=1),
    initContainers=list_of(_container),
    overhead=quantities,
    resources=_resources,
    nodeName=reference,
    nodeSelector=labels,
    affinity=_affinity,
    tolerations=tolerations,
    priority=integer(),
    priorityClassName=reference,
    preemptionPolicy=preemption_policy,
    schedulerName=text,
    runtimeClassName=subdomain,
    hostNetwork=boolean,
    restartPolicy=one_of("", "Always", "OnFailure", "Never"),
    terminationGracePeriodSeconds=any_integer,
    activeDeadlineSeconds=integer(1),
    serviceAccountName=reference,
    serviceAccount=text,
    hostname=_empty_or_label,
    subdomain=_empty_or_label,
    schedulingGates=list_of(fields(("name",), name=qualified_name)),
    resourceClaims=list_of(
        fields(
            ("name",),
            name=dns_label,
            resourceClaimName=subdomain,
            resourceClaimTemplateName=subdomain,
        )
    ),
    workloadRef=fields(name=text),
    topologySpreadConstraints=list_of(
        fields(
            ("maxSkew", "topologyKey", "whenUnsatisfiable"),
            maxSkew=integer(1),
            minDomains=integer(1),
            topologyKey=text,
            whenUnsatisfiable=one_of("DoNotSchedule", "ScheduleAnyway"),
            labelSelector=label_selector,
            matchLabelKeys=texts,
            nodeAffinityPolicy=_node_policy,
            nodeTaintsPolicy=_node_policy,
        )
    ),
    volumes=list_of(
        fields(
            ("name",),
            name=dns_label,
            persistentVolumeClaim=fields(("claimName",), claimName=text, readOnly=boolean),
            ephemeral=fields(
                volumeClaimTemplate=fields(
                    ("spec",), metadata=labels_and_annotations, spec=CLAIM_SPEC
                )
            ),
            csi=fields(("driver",), driver=driver_name, readOnly=boolean),
            emptyDir=fields(medium=text),
            image=fields(reference=text, pullPolicy=text),
            configMap=fields(("name",), name=text),
            secret=fields(("secretName",), secretName=text),
            projected=any_mapping,
            downwardAPI=any_mapping,
            **disk_sources,
        )
    ),
)


container_statuses = list_of(
    fields(name=text, restartCount=integer(), allocatedResources=quantities, resources=_resources)
)


def scripted(rule: Rule) -> Rule:
    """*rule*, and that of the annotation which says what the containers of a pod do."""

    def check(value: Any, path: Path, report: Report) -> None:
        before = len(report.problems)
        rule(value, path, report)
        if len(report.problems) > before:
            return
        text = section(value, "metadata", "annotations").get(SCRIPT_ANNOTATION)
        if isinstance(text, str):
            where = (*path, "metadata", "annotations", SCRIPT_ANNOTATION)
            read_annotation(text, where, report.add)

    return check


pod_template = scripted(fields(("spec",), metadata=labels_and_annotations, spec=POD_SPEC))
