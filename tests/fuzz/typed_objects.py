"""Objects of every kind that a run serves, with fields of other types, other names and more of them."""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any

import yaml

from engine.objects.openapi.definitions import Schema, definitions
from engine.objects.openapi.names import definition_of

Manifest = dict[str, Any]

# What a cluster needs so that the others come to something.
_CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a, kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}, capacity: {cpu: "4", memory: 8Gi, pods: "20"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: b, kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer, allowVolumeExpansion: true}
---
{apiVersion: v1, kind: Pod, metadata: {name: first, labels: {app: a}}, spec: {containers: [{name: c, image: i}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
"""
# One object of each kind, with the parts that engines read.
_OBJECTS = """
{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}, annotations: {a: b}, ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: u}]}, spec: {schedulerName: default-scheduler, priority: 0, terminationGracePeriodSeconds: 5, nodeSelector: {zone: a}, restartPolicy: Always, initContainers: [{name: i, image: x, restartPolicy: Always, resources: {requests: {cpu: 10m}}}], containers: [{name: c, image: i, env: [{name: A, value: b}], ports: [{containerPort: 80, hostPort: 80, protocol: TCP}], resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 1Gi}}, volumeMounts: [{name: d, mountPath: /d}], livenessProbe: {httpGet: {path: /, port: 80}}}], tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 5}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}}]}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: a}}}}]}}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: a}}}], volumes: [{name: d, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}}}, {name: e, emptyDir: {}}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: m, lastTransitionTime: "2026-01-31T12:00:00Z"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3, labels: {zone: c}}, spec: {unschedulable: false, taints: [{key: a, value: b, effect: NoSchedule, timeAdded: "2026-01-31T12:00:00Z"}], podCIDR: 10.0.0.0/24}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "5"}, capacity: {cpu: "2"}, conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-01-31T12:00:00Z"}], images: [{names: [i], sizeBytes: 1000}], volumesAttached: [], addresses: [{type: InternalIP, address: 10.0.0.1}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: a}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, storageClassName: fast, csi: {driver: csi.example.com, volumeHandle: h, volumeAttributes: {a: b}}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}, claimRef: {name: c, namespace: default}}, status: {phase: Available}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}, selector: {matchLabels: {a: b}}, dataSource: {kind: PersistentVolumeClaim, name: data}}, status: {phase: Pending, capacity: {storage: 1Gi}}}
---
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {app: a}, type: ClusterIP, ports: [{port: 80, targetPort: http, nodePort: 30000}]}}
---
{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, default: {cpu: 200m}, defaultRequest: {cpu: 100m}, min: {cpu: 10m}, max: {cpu: "2"}, maxLimitRequestRatio: {cpu: 100}}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: "50", requests.cpu: "50"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}, status: {hard: {pods: "50"}, used: {pods: "1"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b}, binaryData: {c: aGFsbG8=}, immutable: false}
---
{apiVersion: v1, kind: Secret, metadata: {name: m}, data: {a: aGFsbG8=}, stringData: {b: c}, type: Opaque}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: s}], automountServiceAccountToken: true}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: r}, spec: {replicas: 1, selector: {app: r}, minReadySeconds: 1, template: {metadata: {labels: {app: r}}, spec: {containers: [{name: c, image: i}]}}}, status: {replicas: 0}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {replicas: 2, selector: {matchLabels: {app: rs}}, template: {metadata: {labels: {app: rs}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, annotations: {a: b}}, spec: {replicas: 2, paused: false, revisionHistoryLimit: 2, progressDeadlineSeconds: 60, minReadySeconds: 1, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}, selector: {matchExpressions: [{key: app, operator: In, values: [d]}]}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}}, status: {replicas: 0, observedGeneration: 1, conditions: [{type: Progressing, status: "True"}]}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: st}, spec: {replicas: 2, serviceName: s, podManagementPolicy: Parallel, minReadySeconds: 1, ordinals: {start: 1}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0, maxUnavailable: 1}}, selector: {matchLabels: {app: st}}, template: {metadata: {labels: {app: st}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: d, mountPath: /d}]}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}]}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds}, spec: {minReadySeconds: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}, selector: {matchLabels: {app: ds}}, template: {metadata: {labels: {app: ds}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: cr}, revision: 3, data: {spec: {template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c}]}}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: 2, completions: 3, completionMode: Indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 1, activeDeadlineSeconds: 100, ttlSecondsAfterFinished: 10, suspend: false, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [3]}}]}, successPolicy: {rules: [{succeededCount: 1, succeededIndexes: "0-1"}]}, template: {metadata: {annotations: {kscope.dev/exit-code: "3"}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}, status: {active: 0, uncountedTerminatedPods: {succeeded: []}}}
---
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: h, leaseDurationSeconds: 15, renewTime: "2026-01-31T12:00:00.000000Z"}}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: rc}, handler: h, overhead: {podFixed: {cpu: 10m}}, scheduling: {nodeSelector: {zone: a}, tolerations: [{key: a, operator: Exists}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 50%, selector: {matchLabels: {app: a}}, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {disruptionsAllowed: 1, currentHealthy: 1, disruptedPods: {p: "2026-01-31T12:00:00Z"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: dc}, spec: {selectors: [{cel: {expression: device.driver == "d"}}], config: [{opaque: {driver: d, parameters: {any: 1}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: rc}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: dc, count: 1, allocationMode: ExactCount, selectors: [{cel: {expression: "true"}}]}}], constraints: [{requests: [r], matchAttribute: d/a}]}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: rt}, spec: {spec: {devices: {requests: [{name: r, firstAvailable: [{name: f, deviceClassName: dc, count: 1}]}]}}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: sl}, spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: n1, sharedCounters: [{name: s, counters: {m: {value: 1Gi}}}], devices: [{name: d0, attributes: {a: {int: 1}}, capacity: {m: {value: 1Gi}}, taints: [{key: a, effect: NoSchedule}], consumesCounters: [{counterSet: s, counters: {m: {value: 1Gi}}}]}]}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 10, globalDefault: false, preemptionPolicy: Never}
---
{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: scheduling.k8s.io/v1alpha2, kind: Workload, metadata: {name: w}, spec: {podGroupTemplates: [{name: g, schedulingPolicy: {basic: {}}}]}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, provisioner: csi.example.com, reclaimPolicy: Delete, allowVolumeExpansion: true, mountOptions: [a], parameters: {a: b}, allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.example.com}, spec: {attachRequired: true, storageCapacity: false, volumeLifecycleModes: [Persistent], tokenRequests: [{audience: a, expirationSeconds: 600}]}}
---
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: csi.example.com, nodeID: n1, topologyKeys: [zone], allocatable: {count: 5}}]}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: ca}, storageClassName: fast, capacity: 10Gi, maximumVolumeSize: 5Gi, nodeTopology: {matchLabels: {zone: a}}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: gold}, driverName: csi.example.com, parameters: {a: b}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: va}, spec: {attacher: csi.example.com, nodeName: n1, source: {persistentVolumeName: v}}, status: {attached: true, detachError: {message: m, time: "2026-01-31T12:00:00Z"}}}
"""
_OTHERS: tuple[Any, ...] = (
    *("text", "", "5", "1Gi", "25%", 0, 1, -1, 2, 2**31, 2**63, 10**30, 0.5, 1e300, True, False),
    *([], {}, ["a"], [1], [{}], [[]], [None], {"a": "b"}, {"a": 1}, {"a": {}}, {"": None}, None),
)


@cache
def _read(text: str) -> list[Manifest]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def cluster_objects() -> list[Manifest]:
    """The cluster that takes what is changed."""
    return deepcopy(_read(_CLUSTER))


def objects() -> list[Manifest]:
    """One valid object of each kind."""
    return _read(_OBJECTS)


def changed_object(chance: Random) -> Manifest:
    """An object with one to three fields of other types, other names, or more of them."""
    manifest = deepcopy(chance.choice(objects()))
    schema = {"$ref": definition_of(manifest["apiVersion"], manifest["kind"])}
    for _ in range(chance.choice((1, 1, 2, 3))):
        holder, name, field, siblings = chance.choice([*_places(manifest, schema)])
        kind = chance.random()
        if kind < 0.35:
            holder[name] = deepcopy(chance.choice(_OTHERS))
        elif kind < 0.75 and siblings:
            added = chance.choice([*siblings])
            holder[added] = _some(siblings[added], chance, 0)
        elif kind < 0.85 and isinstance(holder, dict) and isinstance(name, str):
            holder[_misspelt(name, chance)] = holder.pop(name)
        else:
            holder[name] = _some(field, chance, 0)
    return manifest


def _misspelt(name: str, chance: Random) -> str:
    place = chance.randrange(len(name)) if name else 0
    return name[:place] + chance.choice("kxs") + name[place + chance.choice((0, 1)) :]


def _places(value: Any, schema: Schema) -> Iterator[tuple[Any, Any, Schema, dict[str, Schema]]]:
    """Each field with its holder, its schema, and the fields that the holder could have."""
    meant = _followed(schema)
    if isinstance(value, dict):
        properties = meant.get("properties") or {}
        others = meant.get("additionalProperties") or {}
        siblings = {
            name: one for name, one in properties.items() if name not in ("kind", "apiVersion")
        }
        for name, part in list(value.items()):
            if name in ("kind", "apiVersion") and siblings:
                continue
            field = properties.get(name) or (others if isinstance(others, dict) else {})
            yield value, name, field, siblings
            yield from _places(part, field)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield value, place, meant.get("items") or {}, {}
            yield from _places(part, meant.get("items") or {})


def _some(schema: Schema, chance: Random, depth: int) -> Any:
    """A value of the type, as odd as the type allows."""
    name = str(schema.get("$ref") or "").rpartition(".")[2]
    if name == "Quantity":
        return chance.choice(("1", "100m", 1, 0.5, "1e3", "10Gi", "-1", "0"))
    if name == "IntOrString":
        return chance.choice((0, 1, -1, 2**31 - 1, "25%", "150%", "http", ""))
    if name in ("Time", "MicroTime"):
        return chance.choice(
            ("2026-01-31T12:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
        )
    meant = _followed(schema)
    match meant.get("type"):
        case "string":
            return chance.choice(("", "a", "Always", "default", "n1", "zone", "a/b", "x" * 300))
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            least = -(2**63) if meant.get("format") == "int64" else -(2**31)
            return chance.choice((0, 1, -1, 5, 100_000, least, -least - 1))
        case "array":
            most = 0 if depth > 4 else chance.choice((0, 1, 1, 2))
            return [_some(meant.get("items") or {}, chance, depth + 1) for _ in range(most)]
        case "object" if meant.get("properties"):
            names = sorted(meant["properties"])
            wanted = {*chance.sample(names, min(len(names), 0 if depth > 4 else 3))}
            wanted |= {*(meant.get("required") or ())} if depth <= 5 else set()
            return {
                one: _some(meant["properties"][one], chance, depth + 1) for one in sorted(wanted)
            }
        case "object" if isinstance(meant.get("additionalProperties"), dict):
            return {"a": _some(meant["additionalProperties"], chance, depth + 1)}
        case _:
            return deepcopy(chance.choice(_OTHERS))


def _followed(schema: Schema) -> Schema:
    reference = str(schema.get("$ref") or "").rpartition("/")[2]
    return definitions().get(reference, {}) if reference else schema
