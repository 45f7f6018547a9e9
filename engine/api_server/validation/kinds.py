"""The rule of each kind that an engine reads, by the name of the kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.api_server.validation.automatic.autoscalers import autoscaler
from engine.api_server.validation.automatic.cron_jobs import cron_job
from engine.api_server.validation.custom.definitions import custom_definition
from engine.api_server.validation.devices import (
    allocated_device,
    device_selectors,
    device_taint_rule,
    resource_claim_spec,
    resource_slice,
)
from engine.api_server.validation.jobs import job_with_selector
from engine.api_server.validation.pods import (
    POD_SPEC,
    container_statuses,
    pod_template,
    preemption_policy,
    scripted,
    tolerations,
)
from engine.api_server.validation.policies.policies import (
    mutating_policy,
    policy_binding,
    validating_policy,
)
from engine.api_server.validation.policies.webhooks import webhook_configuration
from engine.api_server.validation.quotas import QUOTA_SCOPES, limit_range_item, scope_expression
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
    map_of,
    node_selector,
    node_terms,
    one_of,
    provisioner,
    quantity,
    reference,
    subdomain,
    text,
    timestamp,
)
from engine.api_server.validation.shared import (
    amounts,
    any_integer,
    conditions,
    kind_fields,
    node_taints,
    quantities,
    texts,
)
from engine.api_server.validation.storage import (
    CLAIM_SPEC,
    access_modes,
    disk_sources,
    reclaim_policy,
    update_period,
    volume_mode,
)
from engine.api_server.validation.workloads import (
    controller_with_selector,
    count_or_percent,
    scheduling_policy,
    workload_with_selector,
)
from engine.objects.custom.definition import DEFINITION
from engine.objects.documents import Path
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.findings import findings

# Upstream: validatePVSecretReference().
_secret = fields(("name", "namespace"), name=subdomain, namespace=dns_label)

KINDS: Mapping[str, Rule] = {
    "Pod": scripted(
        kind_fields(
            ("spec",),
            spec=POD_SPEC,
            status=fields(
                phase=text,
                reason=text,
                message=text,
                nominatedNodeName=text,
                startTime=timestamp,
                conditions=conditions,
                containerStatuses=container_statuses,
                initContainerStatuses=container_statuses,
            ),
        )
    ),
    "Node": kind_fields(
        spec=fields(
            unschedulable=boolean,
            taints=node_taints,
        ),
        status=fields(
            allocatable=amounts,
            capacity=amounts,
            conditions=conditions,
            images=list_of(fields(names=texts, sizeBytes=any_integer)),
            volumesAttached=list_of(fields(("name",), name=text, devicePath=text)),
            volumesInUse=texts,
        ),
    ),
    "PersistentVolume": kind_fields(
        ("spec",),
        spec=fields(
            ("capacity", "accessModes"),
            capacity=fields(("storage",), storage=quantity),
            accessModes=access_modes,
            claimRef=fields(name=text, namespace=text, uid=text),
            nodeAffinity=fields(required=node_selector),
            storageClassName=reference,
            persistentVolumeReclaimPolicy=reclaim_policy,
            volumeMode=volume_mode,
            volumeAttributesClassName=subdomain,
            mountOptions=texts,
            csi=fields(
                ("driver", "volumeHandle"),
                driver=driver_name,
                volumeHandle=text,
                readOnly=boolean,
                controllerPublishSecretRef=_secret,
                nodeStageSecretRef=_secret,
                nodePublishSecretRef=_secret,
                controllerExpandSecretRef=_secret,
                nodeExpandSecretRef=_secret,
            ),
            **disk_sources,
        ),
        status=fields(phase=text, reason=text, message=text),
    ),
    "PersistentVolumeClaim": kind_fields(
        ("spec",),
        spec=CLAIM_SPEC,
        status=fields(
            phase=text,
            accessModes=access_modes,
            capacity=quantities,
            conditions=conditions,
            allocatedResources=quantities,
            currentVolumeAttributesClassName=text,
            modifyVolumeStatus=fields(targetVolumeAttributesClassName=text),
        ),
    ),
    "StorageClass": kind_fields(
        ("provisioner",),
        provisioner=provisioner,
        volumeBindingMode=one_of("Immediate", "WaitForFirstConsumer"),
        reclaimPolicy=reclaim_policy,
        allowVolumeExpansion=boolean,
        mountOptions=texts,
        parameters=map_of(text),
        allowedTopologies=list_of(
            fields(matchLabelExpressions=list_of(fields(("key", "values"), key=text, values=texts)))
        ),
    ),
    "PriorityClass": kind_fields(
        ("value",),
        value=integer(-(2**31), 2_000_001_000),
        globalDefault=boolean,
        preemptionPolicy=preemption_policy,
    ),
    "PodDisruptionBudget": kind_fields(
        spec=fields(
            minAvailable=count_or_percent,
            maxUnavailable=count_or_percent,
            selector=label_selector,
        ),
        status=fields(disruptionsAllowed=integer(), disruptedPods=map_of(timestamp)),
    ),
    "ResourceQuota": kind_fields(
        spec=fields(
            hard=amounts,
            scopes=list_of(one_of(*QUOTA_SCOPES)),
            scopeSelector=fields(matchExpressions=list_of(scope_expression)),
        ),
        status=fields(hard=amounts, used=amounts),
    ),
    "LimitRange": kind_fields(spec=fields(limits=list_of(limit_range_item))),
    "CSINode": kind_fields(
        spec=fields(
            drivers=list_of(
                fields(
                    ("name",),
                    name=driver_name,
                    nodeID=text,
                    topologyKeys=texts,
                    allocatable=fields(count=integer()),
                )
            )
        )
    ),
    "CSIDriver": kind_fields(
        spec=fields(
            attachRequired=boolean,
            storageCapacity=boolean,
            preventPodSchedulingIfMissing=boolean,
            nodeAllocatableUpdatePeriodSeconds=update_period,
        )
    ),
    "CSIStorageCapacity": kind_fields(
        ("storageClassName",),
        storageClassName=subdomain,
        nodeTopology=label_selector,
        capacity=quantity,
        maximumVolumeSize=quantity,
    ),
    "VolumeAttributesClass": kind_fields(
        ("driverName",), driverName=provisioner, parameters=map_of(text)
    ),
    "VolumeAttachment": kind_fields(
        ("spec",),
        spec=fields(
            ("attacher", "nodeName", "source"),
            attacher=driver_name,
            nodeName=subdomain,
            source=fields(persistentVolumeName=subdomain),
        ),
        status=fields(
            attached=boolean,
            attachError=fields(message=text, errorCode=any_integer),
            detachError=fields(message=text, errorCode=any_integer),
        ),
    ),
    "DeviceClass": kind_fields(spec=fields(selectors=device_selectors, extendedResourceName=text)),
    "ResourceSlice": kind_fields(spec=resource_slice),
    "DeviceTaintRule": kind_fields(
        ("spec",), spec=device_taint_rule, status=fields(conditions=conditions)
    ),
    "ResourceClaim": kind_fields(
        spec=resource_claim_spec,
        status=fields(
            allocation=fields(
                devices=fields(results=list_of(allocated_device)), nodeSelector=node_terms
            ),
            reservedFor=list_of(fields(("name", "uid"), resource=text, name=text, uid=text)),
        ),
    ),
    "ResourceClaimTemplate": kind_fields(spec=fields(spec=resource_claim_spec)),
    "PodGroup": kind_fields(
        ("spec",),
        spec=fields(
            ("schedulingPolicy",), schedulingPolicy=scheduling_policy, priorityClassName=text
        ),
        status=fields(conditions=conditions),
    ),
    "Workload": kind_fields(),
    "Namespace": kind_fields(spec=fields(finalizers=texts), status=fields(phase=text)),
    "RuntimeClass": kind_fields(
        overhead=fields(podFixed=quantities),
        scheduling=fields(nodeSelector=labels, tolerations=tolerations),
    ),
    "Service": kind_fields(
        spec=fields(
            selector=map_of(text),
            type=text,
            ports=list_of(fields(nodePort=any_integer)),
            allocateLoadBalancerNodePorts=boolean,
        )
    ),
    "ReplicationController": controller_with_selector,
    "ReplicaSet": workload_with_selector,
    "Deployment": workload_with_selector,
    "StatefulSet": workload_with_selector,
    "DaemonSet": workload_with_selector,
    "Job": job_with_selector,
    "CronJob": cron_job,
    "HorizontalPodAutoscaler": autoscaler,
}

unknown_kind = kind_fields()
_revision_data = fields(spec=fields(template=pod_template))


def _revision(value: Any, path: Path, report: Report) -> None:
    """The API server does not look into a revision, but no engine could read another template."""
    spec: Any = value.get("spec") if isinstance(value, dict) else value  # pyright: ignore
    template: Any = spec.get("template") if isinstance(spec, dict) else None  # pyright: ignore
    found = findings(NEWEST, "io.k8s.api.core.v1.PodTemplateSpec", template)
    report.add_types((*path, "spec", "template"), found)
    if not found.wrong:
        _revision_data(value, path, report)


# Kinds that users do not load: an engine creates their objects and reads them again.
STORED_KINDS: Mapping[str, Rule] = {
    "ControllerRevision": kind_fields(data=_revision, revision=any_integer),
    DEFINITION: custom_definition,
}

# Kinds that a run holds where a client creates them; of files they are left out.
POLICIES: Mapping[str, Rule] = {
    "MutatingAdmissionPolicy": mutating_policy,
    "MutatingAdmissionPolicyBinding": policy_binding,
    "MutatingWebhookConfiguration": webhook_configuration,
    "ValidatingAdmissionPolicy": validating_policy,
    "ValidatingAdmissionPolicyBinding": policy_binding,
    "ValidatingWebhookConfiguration": webhook_configuration,
}

_CORE_KINDS = (
    *("Pod", "Node", "PersistentVolume", "PersistentVolumeClaim", "Namespace", "Service"),
    *("ResourceQuota", "LimitRange"),
)


def is_known(manifest: dict[str, Any]) -> bool:
    """Whether an engine reads this kind, in this API group."""
    kind, group = manifest["kind"], str(manifest.get("apiVersion", "")).partition("/")
    if kind not in KINDS:
        return False
    custom = bool(group[1]) and "." in group[0] and not group[0].endswith(".k8s.io")
    return not custom and not (kind in _CORE_KINDS and group[1])
