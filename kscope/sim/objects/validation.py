"""What the API server would refuse in a manifest, for every field that the engines read.

Rules are plain functions of (value, path, report), composed into one tree for each kind. Fields
that no engine reads are not looked at: a file from a newer cluster must load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from kscope.sim.objects.cel_text import expression_fault
from kscope.sim.objects.documents import Path
from kscope.sim.objects.objects import NAMESPACED
from kscope.sim.objects.quantity import QuantityError
from kscope.sim.objects.quantity import parse as parse_quantity
from kscope.sim.objects.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    SelectorError,
    label_key_fault,
    label_value_fault,
)

Rule = Callable[[Any, Path, "Report"], None]

_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
# Upstream: DNS1123SubdomainMaxLength. Of what has a longer name no index could hold an event.
LONGEST_OBJECT_NAME = 253
# An entity id: a kind, a namespace and a name.
LONGEST_ENTITY = 63 + 1 + 63 + 1 + LONGEST_OBJECT_NAME
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)
_PART = re.compile(r"([A-Za-z0-9_./-]*?)((?:\[[0-9]+\])*)(?:\.|$)")
# Names of these kinds are path segments, not DNS names. Upstream: ValidatePathSegmentName.
_LOOSE_NAMES = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Event"})


class Report:
    """Collects (path, value, message) of what is wrong."""

    def __init__(self) -> None:
        self.problems: list[tuple[Path, Any, str]] = []

    def add(self, path: Path, value: Any, message: str) -> None:
        """Note one problem; *value* is what stands there."""
        self.problems.append((path, value, message))


def check_manifest(raw: dict[str, Any], path: Path, report: Report) -> None:
    """Report everything wrong with a manifest that has a kind and metadata."""
    # Of a kind that no engine reads the name alone counts, and may be a path segment.
    kind = raw["kind"] if is_known(raw) else "Event"
    _METADATA(raw.get("metadata"), (*path, "metadata"), report)
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        _check_name(kind, cast("dict[str, Any]", metadata), (*path, "metadata"), report)
    rule = KINDS.get(kind)
    if rule is not None:
        rule(raw, path, report)


def check_stored(raw: dict[str, Any], path: Path, report: Report) -> None:
    """As check_manifest, for what an engine is going to store, of whatever kind it is.

    A file's objects of kinds that no engine reads are left out; a command's are stored.
    """
    check_manifest(raw, path, report)
    if is_known(raw):
        return
    kind: str = raw["kind"]
    if not _KIND.fullmatch(kind):
        wrong = f"{shown(kind)} is not a kind: at most 63 letters and digits, a letter first"
        report.add((*path, "kind"), kind, wrong)
    elif kind in KINDS:
        version: Any = raw.get("apiVersion")
        wrong = f"the {kind} of {shown(version)} is another kind than the one that is simulated"
        report.add((*path, "apiVersion"), version, wrong)
    metadata = raw.get("metadata")
    for name, longest in ("name", LONGEST_OBJECT_NAME), ("namespace", 63):
        value = cast("dict[str, Any]", metadata).get(name) if isinstance(metadata, dict) else None
        fault = text_fault(value, longest) if isinstance(value, str) else None
        if fault is not None:
            report.add((*path, "metadata", name), value, fault)
    _STORED.get(kind, _PASSED_ON)(raw, path, report)


def _check_name(kind: str, metadata: dict[str, Any], path: Path, report: Report) -> None:
    name = metadata.get("name")
    if name is None or name == "":
        hint = "; generateName alone does not name it" if metadata.get("generateName") else ""
        report.add((*path, "name"), name, f"a {kind} needs a name{hint}")
    elif not isinstance(name, str) or kind in _LOOSE_NAMES:
        return
    elif kind == "Namespace":
        _check_namespace(name, (*path, "name"), report)
    elif len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        report.add(
            (*path, "name"),
            name,
            f'{shown(name)} is not a name: at most 253 lower case letters, digits, "-" or ".", '
            "with a letter or digit at both ends",
        )
    namespace = metadata.get("namespace")
    if kind in NAMESPACED and isinstance(namespace, str) and namespace:
        _check_namespace(namespace, (*path, "namespace"), report)


def _check_namespace(name: str, path: Path, report: Report) -> None:
    """Upstream: apimachinery validation.ValidateNamespaceName, IsDNS1123Label()."""
    if len(name) > 63 or not _DNS_LABEL.fullmatch(name):
        report.add(
            path,
            name,
            f"{shown(name)} is not the name of a namespace: at most 63 lower case letters, digits "
            'or "-", with a letter or digit at both ends',
        )


def shown(value: Any) -> str:
    """A value as a message shows it, cut short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + ('…"' if isinstance(value, str) else "…")


def text_fault(text: str, longest: int) -> str | None:
    """Why a text cannot be kept in a column of *longest* characters, or None."""
    if len(text) > longest:
        return f"has {len(text):,} characters; at most {longest:,} are kept"
    if "\0" in text:
        return "holds the character U+0000"
    return None


# --- rules for values; an absent or null value is no value, as in the API


def text(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, str):
        quotes = "; put it in quotes" if isinstance(value, (bool, int, float)) else ""
        report.add(path, value, f"expected a text, found {shown(value)}{quotes}")


def object_name(value: Any, path: Path, report: Report) -> None:
    """A text no longer than the name of an object may be."""
    text(value, path, report)
    fault = text_fault(value, LONGEST_OBJECT_NAME) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def dns_label(value: Any, path: Path, report: Report) -> None:
    """Upstream: IsDNS1123Label()."""
    text(value, path, report)
    if isinstance(value, str) and (len(value) > 63 or not _DNS_LABEL.fullmatch(value)):
        report.add(
            path,
            value,
            f'{shown(value)} is not a name here: at most 63 lower case letters, digits or "-", '
            "with a letter or digit at both ends",
        )


def boolean(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, bool):
        report.add(path, value, f"expected true or false, found {shown(value)}")


def integer(low: int = -(2**31), high: int = 2**31 - 1) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            report.add(path, value, f"expected an integer, found {shown(value)}")
        elif value < low:
            report.add(path, value, f"{value} is less than {low}")
        elif value > high:
            report.add(path, value, f"{value} is more than {high}")

    return check


def one_of(*allowed: str) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if value not in allowed:
            report.add(path, value, f"{shown(value)} is not one of {', '.join(allowed)}")

    return check


def timestamp(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, str):
        report.add(path, value, f"expected a timestamp, found {shown(value)}")
        return
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        report.add(path, value, f"{shown(value)} is not a timestamp like 2026-01-31T12:00:00Z")


def quantity(value: Any, path: Path, report: Report) -> None:
    try:
        amount = parse_quantity(value)
    except QuantityError as error:
        report.add(path, value, str(error))
        return
    if amount.nanos < 0:
        report.add(path, value, f"{shown(value)} is less than 0")


def list_of(rule: Rule, *, at_least: int = 0) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, list):
            report.add(path, value, f"expected a list, found {shown(value)}")
            return
        items = cast("list[Any]", value)
        if len(items) < at_least:
            report.add(path, value, f"needs at least {at_least}")
        for index, item in enumerate(items):
            rule(item, (*path, index), report)

    return check


def map_of(rule: Rule) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, dict):
            report.add(path, value, f"expected a mapping, found {shown(value)}")
            return
        for key, item in cast("dict[str, Any]", value).items():
            rule(item, (*path, key), report)

    return check


def fields(required: Iterable[str] = (), /, **rules: Rule) -> Rule:
    """A mapping whose named fields follow their rules; other fields are left alone."""
    needed = tuple(required)

    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, dict):
            report.add(path, value, f"expected a mapping, found {shown(value)}")
            return
        parts = cast("dict[str, Any]", value)
        for name in needed:
            if parts.get(name) is None:
                report.add((*path, name), None, "is missing")
        for name, part in parts.items():
            rule = rules.get(name)
            if rule is not None and part is not None:
                rule(part, (*path, name), report)

    return check


def labels(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, dict):
        report.add(path, value, f"expected a mapping, found {shown(value)}")
        return
    for key, item in cast("dict[str, Any]", value).items():
        fault = label_key_fault(key)
        if not isinstance(item, str):
            text(item, (*path, key), report)
        else:
            fault = fault or label_value_fault(item)
        if fault is not None:
            report.add((*path, key), item, fault)


def _selector(parse: Callable[[Any], object]) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        try:
            parse(value)
        except SelectorError as error:
            report.add(path + _parts(error.path), error.value, error.why)

    return check


def _parts(path: str) -> Path:
    """ "matchExpressions[1].operator" as a tuple. A dotted label key stays at its parent."""
    if path.startswith("matchLabels."):
        return ("matchLabels", path.removeprefix("matchLabels."))
    found: list[str | int] = []
    for name, indices in _PART.findall(path):
        if name:
            found.append(name)
        found.extend(int(index) for index in re.findall(r"[0-9]+", indices))
    return tuple(found)


def _selector_of_labels(value: Any) -> None:
    """Nothing is selected by what no label can be.

    Upstream: ValidateLabelSelector(). Older versions let the values of matchExpressions pass; then
    the scheduler could not read the selector, and the pod failed in every attempt.
    """
    selector = LabelSelector.parse(value)
    fields: dict[str, Any] = value or {}
    pairs: dict[str, str] = fields.get("matchLabels") or {}
    for key, item in pairs.items():
        _refuse(f"matchLabels.{key}", item, label_key_fault(key) or label_value_fault(item))
    for index, requirement in enumerate(selector.requirements[len(pairs) :]):
        for place, item in enumerate(requirement.values):
            path = f"matchExpressions[{index}].values[{place}]"
            _refuse(path, item, label_value_fault(item))


def _refuse(path: str, value: str, fault: str | None) -> None:
    if fault is not None:
        raise SelectorError(path, value, fault)


label_selector = _selector(_selector_of_labels)
_node_terms = _selector(NodeSelector.parse)

node_selector_term = _selector(NodeSelectorTerm.parse)


def node_selector(value: Any, path: Path, report: Report) -> None:
    if isinstance(value, dict) and not cast("dict[str, Any]", value).get("nodeSelectorTerms"):
        report.add((*path, "nodeSelectorTerms"), None, "needs at least one term")
        return
    _node_terms(value, path, report)


# --- the kinds

quantities = map_of(quantity)
texts = list_of(text)
_count = integer(0)
_any_integer = integer(-(2**63), 2**63 - 1)
_access_modes = list_of(
    one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"), at_least=1
)
_volume_mode = one_of("Filesystem", "Block")
_effect = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
_preemption = one_of("PreemptLowerPriority", "Never")
_node_policy = one_of("Honor", "Ignore")
_reclaim = one_of("Retain", "Delete", "Recycle")
_conditions = list_of(
    fields(
        ("type", "status"),
        type=text,
        status=one_of("True", "False", "Unknown"),
        reason=text,
        message=text,
        lastTransitionTime=timestamp,
        lastUpdateTime=timestamp,
    )
)
# Read as a whole, or passed on: all that matters is that it is a mapping.
_mapping = fields()

_METADATA = fields(
    name=text,
    namespace=text,
    uid=text,
    resourceVersion=text,
    labels=labels,
    annotations=map_of(text),
    finalizers=texts,
    creationTimestamp=timestamp,
    deletionTimestamp=timestamp,
    deletionGracePeriodSeconds=_any_integer,
    generation=_any_integer,
    ownerReferences=list_of(
        fields(
            ("kind", "name"),
            apiVersion=text,
            kind=text,
            name=text,
            uid=text,
            controller=boolean,
            blockOwnerDeletion=boolean,
        )
    ),
)

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
_tolerations = list_of(
    fields(
        key=text,
        operator=one_of("", "Exists", "Equal", "Lt", "Gt"),
        value=text,
        effect=one_of("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
        tolerationSeconds=_any_integer,
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
_with_storage = fields(("storage",))


def _claim_requests(value: Any, path: Path, report: Report) -> None:
    _with_storage(value, path, report)
    if isinstance(value, dict):
        quantities(value, path, report)


_CLAIM_SPEC = fields(
    ("accessModes", "resources"),
    accessModes=_access_modes,
    resources=fields(("requests",), requests=_claim_requests),
    selector=label_selector,
    storageClassName=text,
    volumeName=text,
    volumeMode=_volume_mode,
    volumeAttributesClassName=text,
    dataSource=_mapping,
    dataSourceRef=_mapping,
)
_labelled = fields(labels=labels, annotations=map_of(text))
# The sources of volumes that the engines distinguish.
_disks = {
    "hostPath": fields(("path",), path=text, type=text),
    "local": fields(("path",), path=text, fsType=text),
    "awsElasticBlockStore": fields(("volumeID",), volumeID=text, readOnly=boolean),
    "gcePersistentDisk": fields(("pdName",), pdName=text, readOnly=boolean),
    "azureDisk": fields(("diskName",), diskName=text, readOnly=boolean),
    "cinder": fields(("volumeID",), volumeID=text, readOnly=boolean),
    "iscsi": fields(("iqn",), iqn=text, readOnly=boolean),
    "rbd": fields(("image",), image=text, pool=text, monitors=texts, readOnly=boolean),
    "nfs": fields(server=text, path=text, readOnly=boolean),
}
_POD_SPEC = fields(
    ("containers",),
    containers=list_of(_container, at_least=1),
    initContainers=list_of(_container),
    overhead=quantities,
    resources=_resources,
    nodeName=object_name,
    nodeSelector=labels,
    affinity=_affinity,
    tolerations=_tolerations,
    priority=integer(),
    priorityClassName=text,
    preemptionPolicy=_preemption,
    schedulerName=text,
    runtimeClassName=text,
    hostNetwork=boolean,
    restartPolicy=one_of("", "Always", "OnFailure", "Never"),
    terminationGracePeriodSeconds=_any_integer,
    activeDeadlineSeconds=integer(1),
    serviceAccountName=text,
    serviceAccount=text,
    subdomain=text,
    schedulingGates=list_of(fields(("name",), name=text)),
    resourceClaims=list_of(
        fields(("name",), name=text, resourceClaimName=text, resourceClaimTemplateName=text)
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
                volumeClaimTemplate=fields(("spec",), metadata=_labelled, spec=_CLAIM_SPEC)
            ),
            csi=fields(("driver",), driver=text, readOnly=boolean),
            emptyDir=fields(medium=text),
            image=fields(reference=text, pullPolicy=text),
            configMap=_mapping,
            secret=_mapping,
            projected=_mapping,
            downwardAPI=_mapping,
            **_disks,
        )
    ),
)


def _count_or_percent(value: Any, path: Path, report: Report) -> None:
    if isinstance(value, str) and re.fullmatch(r"[0-9]+%", value, re.ASCII):
        return
    if isinstance(value, str):
        report.add(path, value, f"{shown(value)} is neither a count nor a percentage")
        return
    _count(value, path, report)


_container_statuses = list_of(
    fields(name=text, restartCount=integer(), allocatedResources=quantities, resources=_resources)
)
_pod_template = fields(("spec",), metadata=_labelled, spec=_POD_SPEC)
_progress = fields(
    replicas=_count,
    readyReplicas=_count,
    availableReplicas=_count,
    updatedReplicas=_count,
    collisionCount=_count,
    observedGeneration=_any_integer,
    currentRevision=text,
    currentNumberScheduled=_count,
    desiredNumberScheduled=_count,
    numberAvailable=_count,
    numberMisscheduled=_count,
    numberReady=_count,
    updatedNumberScheduled=_count,
    conditions=_conditions,
)
_rolling = fields(maxSurge=_count_or_percent, maxUnavailable=_count_or_percent, partition=_count)
_workload = fields(
    ("spec",),
    spec=fields(
        ("template",),
        replicas=_count,
        selector=label_selector,
        template=_pod_template,
        strategy=fields(type=one_of("", "Recreate", "RollingUpdate"), rollingUpdate=_rolling),
        updateStrategy=fields(type=one_of("", "OnDelete", "RollingUpdate"), rollingUpdate=_rolling),
        minReadySeconds=_count,
        progressDeadlineSeconds=_count,
        revisionHistoryLimit=_count,
        paused=boolean,
        serviceName=text,
        podManagementPolicy=one_of("", "OrderedReady", "Parallel"),
        ordinals=fields(start=_count),
        volumeClaimTemplates=list_of(
            fields(
                ("metadata", "spec"),
                metadata=fields(
                    ("name",), name=object_name, labels=labels, annotations=map_of(text)
                ),
                spec=_CLAIM_SPEC,
            )
        ),
        parallelism=_count,
        completions=_count,
        manualSelector=boolean,
        backoffLimit=_count,
        activeDeadlineSeconds=_any_integer,
        suspend=boolean,
    ),
    status=_progress,
)


# The versions in which a workload without a selector gets the labels of its template.
DEFAULTS_SELECTOR = ("extensions/v1beta1", "apps/v1beta1")


def _selecting(value: Any, path: Path, report: Report) -> None:
    """A workload whose selector finds the pods it makes; else it would make them for ever.

    Upstream: pkg/apis/apps/validation, ValidatePodTemplateSpecForReplicaSet() and the like.
    """
    before = len(report.problems)
    _workload(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    selector, made = spec.get("selector"), _template_labels(spec)
    if selector is None:
        if not made or value.get("apiVersion") not in DEFAULTS_SELECTOR:
            report.add((*path, "spec", "selector"), None, "is missing")
    elif LabelSelector.parse(selector).empty:
        kind = value["kind"].lower()
        # Upstream says so of a ReplicaSet, too.
        kind = "deployment" if kind == "replicaset" else kind
        report.add((*path, "spec", "selector"), selector, f"empty selector is invalid for {kind}")
    else:
        _refuse_mismatch(LabelSelector.parse(selector), made, path, report)


def _template_labels(spec: dict[str, Any]) -> dict[str, str]:
    metadata: dict[str, Any] = spec["template"].get("metadata") or {}
    return metadata.get("labels") or {}


def _refuse_mismatch(
    selector: LabelSelector, made: dict[str, str], path: Path, report: Report
) -> None:
    if not selector.matches(made):
        where = (*path, "spec", "template", "metadata", "labels")
        report.add(where, made, "`selector` does not match template `labels`")


def _kind(required: Iterable[str] = (), /, **rules: Rule) -> Rule:
    """As `fields`; spec and status are mappings, also where nothing in them is read."""
    return fields(required, **({"spec": _mapping, "status": _mapping} | rules))


# The labels that the API server gives to the pods of a Job, in their older and newer form.
_JOB_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB_NAME = ("job-name", "batch.kubernetes.io/job-name")


def _selecting_job(value: Any, path: Path, report: Report) -> None:
    """A Job, whose selector is generated unless it says that it is not.

    Upstream: pkg/apis/batch/validation, ValidateJob(), validateGeneratedSelector().
    """
    before = len(report.problems)
    _workload(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    labels = _template_labels(spec)
    if spec.get("selector") is None:
        if spec.get("manualSelector"):
            report.add((*path, "spec", "selector"), None, "is missing")
        return
    selector = LabelSelector.parse(spec["selector"])
    if not spec.get("manualSelector"):
        metadata = value.get("metadata")
        named = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
        generated = _generated_labels(named, labels)
        if not selector.matches(generated):
            where = (*path, "spec", "selector")
            report.add(where, spec["selector"], "`selector` not auto-generated")
            return
        labels = {name: generated[name] for name in ("controller-uid", "job-name")} | labels
    _refuse_mismatch(selector, labels, path, report)


def _generated_labels(metadata: dict[str, Any], labels: dict[str, str]) -> dict[str, str]:
    """What the API server labels the pods of a Job with.

    A Job whose uid was taken out of a dump had the one that its template still names.
    """
    named = next((labels[name] for name in _JOB_UID if name in labels), "")
    uid, name = metadata.get("uid") or named, metadata.get("name") or ""
    return {**dict.fromkeys(_JOB_UID, uid), **dict.fromkeys(_JOB_NAME, name)}


_controller = fields(
    ("spec",),
    spec=fields(
        ("template",),
        replicas=_count,
        selector=map_of(text),
        template=_pod_template,
        minReadySeconds=_count,
    ),
    status=_progress,
)


def _selecting_controller(value: Any, path: Path, report: Report) -> None:
    """A ReplicationController; without a selector it gets the labels of its template.

    Upstream: pkg/apis/core/validation, ValidateReplicationControllerSpec().
    """
    before = len(report.problems)
    _controller(value, path, report)
    if len(report.problems) > before:
        return
    spec: dict[str, Any] = value["spec"]
    made = _template_labels(spec)
    selector: dict[str, str] = spec.get("selector") or made
    if not selector:
        report.add((*path, "spec", "selector"), None, "is missing")
    else:
        _refuse_mismatch(LabelSelector.parse({"matchLabels": selector}), made, path, report)


_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
_scope_expression = fields(
    ("scopeName", "operator"),
    scopeName=one_of(*_SCOPES),
    operator=one_of("In", "NotIn", "Exists", "DoesNotExist"),
    values=texts,
)
_limit_range_fields = fields(
    ("type",),
    type=one_of("Container", "Pod", "PersistentVolumeClaim"),
    min=quantities,
    max=quantities,
    default=quantities,
    defaultRequest=quantities,
    maxLimitRequestRatio=quantities,
)
# Each may not be more than those that follow it. Upstream: ValidateLimitRange().
_RISING = ("min", "defaultRequest", "default", "max")


def _limit_range_item(value: Any, path: Path, report: Report) -> None:
    before = len(report.problems)
    _limit_range_fields(value, path, report)
    if len(report.problems) > before:
        return
    bounds = [(name, cast("dict[str, Any]", value.get(name) or {})) for name in _RISING]
    for place, (smaller, least) in enumerate(bounds):
        for larger, most in bounds[place + 1 :]:
            for resource, amount in least.items():
                if resource in most and parse_quantity(amount) > parse_quantity(most[resource]):
                    wrong = f"{smaller} {amount} is more than {larger} {most[resource]}"
                    report.add((*path, smaller, resource), amount, wrong)
    ratios: dict[str, Any] = value.get("maxLimitRequestRatio") or {}
    for resource, ratio in ratios.items():
        if parse_quantity(ratio) < parse_quantity(1):
            report.add(
                (*path, "maxLimitRequestRatio", resource), ratio, f"ratio {ratio} is less than 1"
            )


# Dynamic resource allocation. Upstream: resource.k8s.io/v1; v1beta1 has `basic` and no `exactly`.
def _cel_expression(value: Any, path: Path, report: Report) -> None:
    """Upstream: apis/resource/validation validateCELSelector()."""
    text(value, path, report)
    fault = expression_fault(value) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


_device_selectors = list_of(
    fields(("cel",), cel=fields(("expression",), expression=_cel_expression))
)
_device_request = fields(
    deviceClassName=text,
    selectors=_device_selectors,
    allocationMode=one_of("ExactCount", "All"),
    count=integer(1),
    adminAccess=boolean,
    tolerations=list_of(
        fields(key=text, operator=one_of("", "Exists", "Equal"), value=text, effect=text)
    ),
    capacity=fields(requests=quantities),
)
_claim_spec = fields(
    devices=fields(
        requests=list_of(
            fields(
                ("name",),
                name=text,
                exactly=_device_request,
                firstAvailable=list_of(_device_request),
            )
        ),
        constraints=list_of(fields(requests=texts, matchAttribute=text, distinctAttribute=text)),
    )
)
_device_counters = map_of(fields(("value",), value=quantity))
_device_fields = {
    "attributes": map_of(fields(int=_any_integer, bool=boolean, string=text, version=text)),
    "capacity": map_of(
        fields(
            ("value",),
            value=quantity,
            requestPolicy=fields(
                default=quantity,
                validValues=list_of(quantity),
                validRange=fields(min=quantity, max=quantity, step=quantity),
            ),
        )
    ),
    "consumesCounters": list_of(
        fields(("counterSet",), counterSet=text, counters=_device_counters)
    ),
    "nodeName": text,
    "nodeSelector": _node_terms,
    "allNodes": boolean,
    "taints": list_of(fields(("key", "effect"), key=text, value=text, effect=text)),
    "bindingConditions": texts,
    "bindingFailureConditions": texts,
    "allowMultipleAllocations": boolean,
}
_resource_slice = fields(
    ("driver", "pool"),
    driver=text,
    pool=fields(("name",), name=text, generation=integer(0), resourceSliceCount=integer(1)),
    nodeName=text,
    nodeSelector=_node_terms,
    allNodes=boolean,
    perDeviceNodeSelection=boolean,
    devices=list_of(fields(("name",), name=text, basic=fields(**_device_fields), **_device_fields)),
    sharedCounters=list_of(fields(("name",), name=text, counters=_device_counters)),
)
_allocated_device = fields(
    ("request", "driver", "pool", "device"),
    request=text,
    driver=text,
    pool=text,
    device=text,
    adminAccess=boolean,
    shareID=text,
    consumedCapacity=quantities,
)

KINDS: Mapping[str, Rule] = {
    "Pod": _kind(
        ("spec",),
        spec=_POD_SPEC,
        status=fields(
            phase=text,
            reason=text,
            message=text,
            nominatedNodeName=text,
            startTime=timestamp,
            conditions=_conditions,
            containerStatuses=_container_statuses,
            initContainerStatuses=_container_statuses,
        ),
    ),
    "Node": _kind(
        spec=fields(
            unschedulable=boolean,
            taints=list_of(fields(("key", "effect"), key=text, value=text, effect=_effect)),
        ),
        status=fields(
            allocatable=quantities,
            capacity=quantities,
            conditions=_conditions,
            images=list_of(fields(names=texts, sizeBytes=_any_integer)),
            volumesAttached=list_of(fields(("name",), name=text, devicePath=text)),
            volumesInUse=texts,
        ),
    ),
    "PersistentVolume": _kind(
        ("spec",),
        spec=fields(
            ("capacity", "accessModes"),
            capacity=fields(("storage",), storage=quantity),
            accessModes=_access_modes,
            claimRef=fields(name=text, namespace=text, uid=text),
            nodeAffinity=fields(required=node_selector),
            storageClassName=text,
            persistentVolumeReclaimPolicy=_reclaim,
            volumeMode=_volume_mode,
            volumeAttributesClassName=text,
            mountOptions=texts,
            csi=fields(
                ("driver", "volumeHandle"), driver=text, volumeHandle=text, readOnly=boolean
            ),
            **_disks,
        ),
        status=fields(phase=text, reason=text, message=text),
    ),
    "PersistentVolumeClaim": _kind(
        ("spec",),
        spec=_CLAIM_SPEC,
        status=fields(
            phase=text,
            accessModes=_access_modes,
            capacity=quantities,
            conditions=_conditions,
            allocatedResources=quantities,
            currentVolumeAttributesClassName=text,
            modifyVolumeStatus=fields(targetVolumeAttributesClassName=text),
        ),
    ),
    "StorageClass": _kind(
        ("provisioner",),
        provisioner=text,
        volumeBindingMode=one_of("Immediate", "WaitForFirstConsumer"),
        reclaimPolicy=_reclaim,
        allowVolumeExpansion=boolean,
        mountOptions=texts,
        parameters=map_of(text),
        allowedTopologies=list_of(
            fields(matchLabelExpressions=list_of(fields(("key", "values"), key=text, values=texts)))
        ),
    ),
    "PriorityClass": _kind(
        ("value",),
        value=integer(-(2**31), 2_000_001_000),
        globalDefault=boolean,
        preemptionPolicy=_preemption,
    ),
    "PodDisruptionBudget": _kind(
        spec=fields(
            minAvailable=_count_or_percent,
            maxUnavailable=_count_or_percent,
            selector=label_selector,
        ),
        status=fields(disruptionsAllowed=integer(), disruptedPods=map_of(timestamp)),
    ),
    "ResourceQuota": _kind(
        spec=fields(
            hard=quantities,
            scopes=list_of(one_of(*_SCOPES)),
            scopeSelector=fields(matchExpressions=list_of(_scope_expression)),
        ),
        status=fields(hard=quantities, used=quantities),
    ),
    "LimitRange": _kind(spec=fields(limits=list_of(_limit_range_item))),
    "CSINode": _kind(
        spec=fields(
            drivers=list_of(
                fields(
                    ("name",),
                    name=text,
                    nodeID=text,
                    topologyKeys=texts,
                    allocatable=fields(count=integer()),
                )
            )
        )
    ),
    "CSIDriver": _kind(spec=fields(attachRequired=boolean, storageCapacity=boolean)),
    "CSIStorageCapacity": _kind(
        ("storageClassName",),
        storageClassName=text,
        nodeTopology=label_selector,
        capacity=quantity,
        maximumVolumeSize=quantity,
    ),
    "VolumeAttachment": _kind(
        ("spec",),
        spec=fields(
            ("attacher", "nodeName", "source"),
            attacher=text,
            nodeName=text,
            source=fields(persistentVolumeName=text),
        ),
        status=fields(
            attached=boolean, attachError=fields(message=text), detachError=fields(message=text)
        ),
    ),
    "DeviceClass": _kind(spec=fields(selectors=_device_selectors, extendedResourceName=text)),
    "ResourceSlice": _kind(spec=_resource_slice),
    "ResourceClaim": _kind(
        spec=_claim_spec,
        status=fields(
            allocation=fields(
                devices=fields(results=list_of(_allocated_device)), nodeSelector=_node_terms
            ),
            reservedFor=list_of(fields(("name", "uid"), resource=text, name=text, uid=text)),
        ),
    ),
    "ResourceClaimTemplate": _kind(spec=fields(spec=_claim_spec)),
    "Namespace": _kind(spec=fields(finalizers=texts), status=fields(phase=text)),
    "RuntimeClass": _kind(
        overhead=fields(podFixed=quantities),
        scheduling=fields(nodeSelector=labels, tolerations=_tolerations),
    ),
    "Service": _kind(
        spec=fields(
            selector=map_of(text),
            type=text,
            ports=list_of(fields(nodePort=_any_integer)),
            allocateLoadBalancerNodePorts=boolean,
        )
    ),
    "ReplicationController": _selecting_controller,
    "ReplicaSet": _selecting,
    "Deployment": _selecting,
    "StatefulSet": _selecting,
    "DaemonSet": _selecting,
    "Job": _selecting_job,
}

_PASSED_ON = _kind()
# Kinds that only engines make, and read again.
_STORED: Mapping[str, Rule] = {
    "ControllerRevision": _kind(
        data=fields(spec=fields(template=_pod_template)), revision=_any_integer
    )
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
