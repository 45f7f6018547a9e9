"""The text with which somebody begins an object of a kind: small, whole, and taken as it is.

What else the kind may have, the schema says while it is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.objects.kinds import NAMESPACED


@dataclass(frozen=True, slots=True)
class Beginning:
    """A kind, and what an object of it has besides its name."""

    api_version: str
    kind: str
    body: str = ""
    # What the names of the kind end with.
    ending: str = ""

    @property
    def name(self) -> str:
        """What such an object is called, as long as nobody gives it a better name."""
        return self.numbered(1)

    def numbered(self, number: int) -> str:
        """The same, where others have that name already: number 2 is the second one."""
        return f"new-{self.kind.lower()}{f'-{number}' if number > 1 else ''}{self.ending}"

    def text(self, name: str) -> str:
        """The manifest as YAML, for an object of that *name*."""
        lines = [f"apiVersion: {self.api_version}", f"kind: {self.kind}"]
        lines += ["metadata:", f"  name: {name}"]
        if self.kind in NAMESPACED:
            lines.append("  namespace: default")
        return "\n".join([*lines, *self._lines(name)]) + "\n"

    def _lines(self, name: str) -> Iterator[str]:
        name = name.removesuffix(self.ending)
        return (line.replace("NAME", name) for line in self.body.strip("\n").splitlines())


_RESOURCES: Final = """
    cpu: 4
    memory: 16Gi
    pods: 110
"""
_CONTAINERS: Final = """
  containers:
  - name: main
    image: app:1
    resources:
      requests:
        cpu: 100m
        memory: 128Mi
"""
_SELECTOR: Final = """
  selector:
    matchLabels:
      app: NAME
"""


def _indented(text: str, spaces: int) -> str:
    pad = " " * spaces
    return "\n".join(f"{pad}{line}" for line in text.strip("\n").splitlines())


def _template(more: str = "") -> str:
    head = "  template:\n    metadata:\n      labels:\n        app: NAME\n    spec:\n"
    return f"{head}{_indented(_CONTAINERS, 4)}\n{more}"


_NEVER_AGAIN: Final = "      restartPolicy: Never\n"
_ALL: Final = (
    Beginning(
        "v1",
        "Node",
        f"status:\n  capacity:{_RESOURCES.rstrip()}\n  allocatable:{_RESOURCES.rstrip()}",
    ),
    Beginning("v1", "Pod", f"spec:{_CONTAINERS}"),
    Beginning(
        "v1",
        "PersistentVolumeClaim",
        """
spec:
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 10Gi
""",
    ),
    Beginning(
        "v1",
        "PersistentVolume",
        """
spec:
  capacity:
    storage: 10Gi
  accessModes:
  - ReadWriteOnce
  persistentVolumeReclaimPolicy: Retain
  csi:
    driver: csi.example.com
    volumeHandle: NAME
""",
    ),
    Beginning(
        "storage.k8s.io/v1",
        "StorageClass",
        """
provisioner: csi.example.com
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
""",
    ),
    Beginning("apps/v1", "Deployment", f"spec:\n  replicas: 2{_SELECTOR}{_template()}"),
    Beginning(
        "apps/v1",
        "StatefulSet",
        f"spec:\n  replicas: 2\n  serviceName: NAME{_SELECTOR}{_template()}",
    ),
    Beginning("apps/v1", "DaemonSet", f"spec:{_SELECTOR}{_template()}"),
    Beginning("apps/v1", "ReplicaSet", f"spec:\n  replicas: 2{_SELECTOR}{_template()}"),
    Beginning(
        "v1",
        "ReplicationController",
        f"spec:\n  replicas: 2\n  selector:\n    app: NAME\n{_template()}",
    ),
    Beginning("batch/v1", "Job", f"spec:\n  completions: 1\n{_template(_NEVER_AGAIN)}"),
    Beginning(
        "batch/v1",
        "CronJob",
        "spec:\n  schedule: '*/5 * * * *'\n  jobTemplate:\n    spec:\n"
        f"{_indented(_template(_NEVER_AGAIN), 4)}",
    ),
    Beginning(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        """
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: new-deployment
  minReplicas: 1
  maxReplicas: 5
""",
    ),
    Beginning("policy/v1", "PodDisruptionBudget", f"spec:\n  minAvailable: 1{_SELECTOR}"),
    Beginning("scheduling.k8s.io/v1", "PriorityClass", "value: 1000"),
    Beginning("v1", "Namespace"),
    Beginning(
        "v1",
        "ResourceQuota",
        """
spec:
  hard:
    pods: 10
    requests.cpu: 8
""",
    ),
    Beginning(
        "v1",
        "LimitRange",
        """
spec:
  limits:
  - type: Container
    defaultRequest:
      cpu: 100m
""",
    ),
    Beginning(
        "v1",
        "Service",
        """
spec:
  selector:
    app: NAME
  ports:
  - port: 80
""",
    ),
    Beginning("v1", "ServiceAccount"),
    Beginning("v1", "ConfigMap", "data:\n  key: value"),
    Beginning("v1", "Secret", "stringData:\n  key: value"),
    Beginning(
        "v1",
        "Event",
        """
involvedObject:
  kind: Pod
  namespace: default
  name: new-pod
reason: Noted
message: Somebody has noted something.
type: Normal
""",
    ),
    Beginning(
        "events.k8s.io/v1",
        "Event",
        """
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: example.com/controller
reportingInstance: controller-0
action: Noting
reason: Noted
note: Somebody has noted something.
type: Normal
regarding:
  kind: Pod
  namespace: default
  name: new-pod
""",
    ),
    Beginning("apps/v1", "ControllerRevision", "revision: 1\ndata: {}"),
    Beginning("coordination.k8s.io/v1", "Lease", "spec:\n  holderIdentity: NAME"),
    Beginning("node.k8s.io/v1", "RuntimeClass", "handler: runc"),
    Beginning("storage.k8s.io/v1", "CSIDriver", "spec:\n  attachRequired: true"),
    Beginning(
        "storage.k8s.io/v1",
        "CSINode",
        """
spec:
  drivers:
  - name: csi.example.com
    nodeID: NAME
    topologyKeys: []
    allocatable:
      count: 25
""",
    ),
    Beginning(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        "storageClassName: new-storageclass\nnodeTopology: {}\ncapacity: 100Gi",
    ),
    Beginning("storage.k8s.io/v1", "VolumeAttributesClass", "driverName: csi.example.com"),
    Beginning(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        """
spec:
  attacher: csi.example.com
  nodeName: new-node
  source:
    persistentVolumeName: new-persistentvolume
""",
    ),
    Beginning(
        "resource.k8s.io/v1",
        "DeviceClass",
        """
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com"
""",
    ),
    Beginning(
        "resource.k8s.io/v1",
        "ResourceClaim",
        """
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: new-deviceclass
""",
    ),
    Beginning(
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        """
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: new-deviceclass
""",
    ),
    Beginning(
        "resource.k8s.io/v1",
        "ResourceSlice",
        """
spec:
  driver: gpu.example.com
  nodeName: new-node
  pool:
    name: NAME
    generation: 1
    resourceSliceCount: 1
  devices:
  - name: gpu-0
""",
    ),
    Beginning(
        "resource.k8s.io/v1beta2",
        "DeviceTaintRule",
        """
spec:
  deviceSelector:
    driver: gpu.example.com
  taint:
    key: example.com/broken
    effect: NoSchedule
""",
    ),
    Beginning(
        "scheduling.k8s.io/v1alpha2",
        "Workload",
        """
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy:
      gang:
        minCount: 2
""",
    ),
    Beginning(
        "scheduling.k8s.io/v1alpha2",
        "PodGroup",
        """
spec:
  schedulingPolicy:
    gang:
      minCount: 2
""",
    ),
    Beginning(
        "v1",
        "PodTemplate",
        """
template:
  metadata:
    labels:
      app: NAME
  spec:
    containers:
    - name: main
      image: app:1
""",
    ),
    Beginning(
        "v1",
        "Endpoints",
        """
subsets:
- addresses:
  - ip: 10.0.0.1
  ports:
  - port: 80
""",
    ),
    Beginning(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        """
addressType: IPv4
endpoints:
- addresses:
  - 10.0.0.1
ports:
- port: 80
""",
    ),
    Beginning(
        "networking.k8s.io/v1",
        "Ingress",
        """
spec:
  defaultBackend:
    service:
      name: new-service
      port:
        number: 80
""",
    ),
    Beginning(
        "networking.k8s.io/v1",
        "IngressClass",
        """
spec:
  controller: example.com/ingress
""",
    ),
    Beginning(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        """
spec:
  podSelector: {}
  policyTypes:
  - Ingress
""",
    ),
    *(
        Beginning(
            "rbac.authorization.k8s.io/v1",
            kind,
            """
rules:
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
""",
        )
        for kind in ("Role", "ClusterRole")
    ),
    *(
        Beginning(
            "rbac.authorization.k8s.io/v1",
            kind,
            f"""
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {role}
  name: new-{role.lower()}
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: somebody
""",
        )
        for kind, role in (("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole"))
    ),
    Beginning(
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        """
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 10
    limitResponse:
      type: Reject
""",
    ),
    Beginning(
        "flowcontrol.apiserver.k8s.io/v1",
        "FlowSchema",
        """
spec:
  matchingPrecedence: 1000
  priorityLevelConfiguration:
    name: new-prioritylevelconfiguration
""",
    ),
    Beginning(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        """
spec:
  request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K
  signerName: example.com/signer
  usages:
  - client auth
""",
    ),
    Beginning(
        "apiregistration.k8s.io/v1",
        "APIService",
        """
spec:
  group: example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  service:
    namespace: default
    name: api
""",
    ),
    Beginning(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        """
spec:
  matchConstraints:
    resourceRules:
    - apiGroups:
      - apps
      apiVersions:
      - v1
      operations:
      - CREATE
      - UPDATE
      resources:
      - deployments
  validations:
  - expression: object.spec.replicas <= 5
""",
    ),
    Beginning(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        """
spec:
  policyName: new-validatingadmissionpolicy
  validationActions:
  - Deny
""",
    ),
    Beginning(
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicy",
        """
spec:
  matchConstraints:
    resourceRules:
    - apiGroups:
      - apps
      apiVersions:
      - v1
      operations:
      - CREATE
      resources:
      - deployments
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/spec/replicas", value: 2}]'
  reinvocationPolicy: Never
""",
    ),
    Beginning(
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicyBinding",
        """
spec:
  policyName: new-mutatingadmissionpolicy
""",
    ),
    *(
        Beginning(
            "admissionregistration.k8s.io/v1",
            kind,
            """
webhooks:
- name: hook.example.com
  admissionReviewVersions:
  - v1
  clientConfig:
    url: https://hook.example.com/
  sideEffects: None
  rules:
  - apiGroups:
    - apps
    apiVersions:
    - v1
    operations:
    - CREATE
    resources:
    - deployments
""",
        )
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ),
    Beginning(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        """
spec:
  group: example.com
  scope: Namespaced
  names:
    plural: NAME
    kind: Widget
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
""",
        ending=".example.com",
    ),
)
BEGINNINGS: Final = {f"{one.api_version} {one.kind}": one for one in _ALL}
