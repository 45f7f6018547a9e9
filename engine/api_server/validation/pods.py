"""Rules for the spec of a pod, and for the template of a workload."""

from __future__ import annotations

from typing import Any

from engine.api_server.validation.report import Report, invalid_value
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
    amounts,
    any_integer,
    any_mapping,
    labels_and_annotations,
    mapping_in,
    resource_requirements,
    texts,
)
from engine.api_server.validation.storage import CLAIM_SPEC, disk_sources
from engine.objects.documents import Path
from engine.objects.manifest_parts import section
from engine.objects.scripts.reading import SCRIPT_ANNOTATION, read_annotation


def _empty_or_label(value: Any, path: Path, report: Report) -> None:
    if value != "":
        dns_label(value, path, report)


def _empty_or_qualified(value: Any, path: Path, report: Report) -> None:
    if value != "":
        qualified_name(value, path, report)


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
_toleration = fields(
    key=_empty_or_qualified,
    operator=one_of("", "Exists", "Equal", "Lt", "Gt"),
    value=text,
    effect=one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    tolerationSeconds=any_integer,
)


def _whole_toleration(value: Any, path: Path, report: Report) -> None:
    """Upstream: ValidateTolerations()."""
    _toleration(value, path, report)
    toleration = mapping_in(value)
    operator, effect = toleration.get("operator") or "", toleration.get("effect") or ""
    if toleration and not toleration.get("key") and operator != "Exists":
        why = (
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"'
        )
        report.add((*path, "operator"), operator, why, invalid_value(operator, why))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        report.add((*path, "effect"), effect, why, invalid_value(effect, why))
    if operator == "Exists" and toleration.get("value"):
        why = "value must be empty when `operator` is 'Exists'"
        report.add((*path, "operator"), toleration["value"], why, invalid_value(toleration, why))


tolerations = list_of(_whole_toleration)
_container = fields(
    ("name",),
    name=text,
    image=text,
    imagePullPolicy=text,
    # Of a container's own only Always means something here: a sidecar.
    restartPolicy=one_of("", "Always", "OnFailure", "Never"),
    resources=resource_requirements,
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
    overhead=amounts,
    resources=resource_requirements,
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
    fields(
        name=text,
        restartCount=integer(),
        allocatedResources=amounts,
        resources=resource_requirements,
    )
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
