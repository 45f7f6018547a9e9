"""What people type: each command, its exit status, and what it must print.

The commands of a story are given one after the other to one run.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command line, without "kubectl".

    `shows` and `hides` are texts that must and must not be printed. `since` is the first minor
    version of kubectl that has the command, `before` the first that does otherwise. `then` is the virtual time that passes afterwards, in
    seconds; with `plays` it passes meanwhile, for a command that waits. `differs` says what is not
    as with a real cluster. "{root}" in a line stands for the path of the run's API
    where kubectl needs it, "{api}" for that of its group "core".
    """

    line: str
    exit: int = 0
    shows: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    since: int = 0
    before: int = 0
    then: float = 0
    plays: bool = False
    differs: str = ""


def c(line: str, *shows: str, **more: Any) -> Command:
    """A command that prints *shows*."""
    return Command(line=line, shows=shows, **more)


_NO_PROCESSES = "simulated containers run no processes"

STORIES: dict[str, tuple[Command, ...]] = {
    "reading": (
        c("version", "Server Version"),
        c("cluster-info", "control plane"),
        c("api-versions", "apps/v1", "storage.k8s.io/v1"),
        c("api-resources", "persistentvolumeclaims", "pvc", "PersistentVolumeClaim"),
        c("get nodes", "STATUS", "ROLES", "AGE", "VERSION", "node-0", "Ready"),
        c(
            "get nodes,pods -A -o wide",
            "INTERNAL-IP",
            "NOMINATED NODE",
            "READINESS GATES",
            "lonely",
        ),
        c("get pods", "READY", "RESTARTS", "1/1", "Running", "0/1", "Pending"),
        c("get pod lonely", "NAME", "lonely", "60s"),
        c("get pod lonely -o yaml", "schedulerName: default-scheduler", "resourceVersion:", "uid:"),
        c("get pods -o json", '"kind": "List"', '"nodeName"'),
        c("get pods -o name", "pod/lonely", "pod/pending"),
        c("get pods -o jsonpath={.items[*].metadata.name}", "lonely pending"),
        c("get pods -o custom-columns=N:.metadata.name,P:.status.phase", "lonely", "Running"),
        c("get pods --no-headers", "lonely", hides=("READY",)),
        c("get pods --sort-by .metadata.name", "lonely"),
        c("get pods --show-labels", "LABELS", "app=lonely"),
        c("get nodes -L zone", "ZONE", "b"),
        c("get pods -l app=web", "web-", hides=("lonely",)),
        c("get pods -l 'app in (lonely),app!=web'", "lonely", hides=("web-",)),
        c("get pods --field-selector status.phase=Pending", "pending", hides=("lonely",)),
        c("get pods --chunk-size=2", "lonely", "pending"),
        c("get pods -n other", "No resources found in other namespace."),
        c("get pod missing", 'pods "missing" not found', exit=1),
        c("get widgets", "the server doesn't have a resource type", exit=1),
        c("get all", "deployment.apps/web", "replicaset.apps/web-", "2/2"),
        c(
            "get pv,pvc,sc -A",
            "RECLAIM POLICY",
            "VOLUMEBINDINGMODE",
            "Bound",
            "WaitForFirstConsumer",
        ),
        c("get events", "LAST SEEN", "FailedScheduling", "Scheduled"),
        c("events", "FailedScheduling", since=23),
        c("get namespaces", "default", "Active"),
        c("get --raw {api}/nodes", '"kind":"NodeList"'),
        c("get --raw {root}/readyz", "ok"),
        c("describe pod pending", "FailedScheduling", "default-scheduler", "Insufficient cpu"),
        c("describe pod lonely", "ClaimName:", "Node:", "QoS Class:", "attachdetach-controller"),
        c("describe node node-0", "Allocatable:", "Allocated resources:", "Conditions:"),
        c("describe deployment web", "2 desired", "StrategyType:", "ScalingReplicaSet"),
        c("describe pvc data", "StorageClass:  fast", "Used By:       lonely", since=21),
        c("describe pv", "StorageClass:", "default/data"),
        c("describe storageclass fast", "VolumeBindingMode:     WaitForFirstConsumer"),
        c("explain pod.spec.containers", "image"),
        c("explain deployment --recursive", "replicas"),
        c("auth can-i create pods", "yes"),
        c("auth can-i --list", "*"),
        c("auth whoami", "system:anonymous", since=27),
        c("config current-context", "run"),
        c("rollout status deployment/web", "successfully rolled out"),
        c("rollout history deployment/web", "REVISION"),
        c("wait pod/lonely --for=condition=Ready --timeout=5s", "condition met"),
        c("wait pod/missing --for=condition=Ready --timeout=5s", "not found", exit=1),
    ),
    "applying": (
        c("apply -f app.yaml", "deployment.apps/app created", then=30),
        c("apply -f app.yaml", "deployment.apps/app unchanged"),
        c("get deployment app -o jsonpath={.metadata.labels}", "front"),
        c("diff -f app.yaml"),
        c("diff -f app2.yaml", "app:2", exit=1),
        c("apply -f app2.yaml --dry-run=server", "configured (server dry run)"),
        c("apply -f app2.yaml", "deployment.apps/app configured", then=30),
        c("get deployment app -o jsonpath={.metadata.labels}", hides=("front",)),
        c("apply view-last-applied deployment/app", "app:2"),
        c("rollout history deployment/app", "2"),
        c("rollout undo deployment/app", "rolled back", then=30),
        c("get pods -l app=app -o jsonpath={..image}", "app:1"),
        c("create -f pod.yaml", "pod/mine created", then=30),
        c("create -f pod.yaml", 'pods "mine" already exists', exit=1),
        c("apply -f broken.yaml", "unknown field", "imag", exit=1),
        c("replace -f app.yaml", "deployment.apps/app replaced", then=10),
        c("replace --force -f pod.yaml", "pod/mine replaced", plays=True),
        c("delete -f app.yaml", 'deployment.apps "app" deleted', plays=True),
        c("get deployment app", "not found", exit=1),
    ),
    "owning fields": (
        c("apply --server-side --field-manager=one -f app.yaml", "serverside-applied", then=10),
        c("apply --server-side --field-manager=one -f app.yaml", "serverside-applied"),
        c(
            "apply --server-side --field-manager=two -f app2.yaml",
            'conflict with "one"',
            ".spec.template.spec.containers",
            exit=1,
        ),
        c(
            "apply --server-side --field-manager=two -f app2.yaml --force-conflicts",
            "serverside-applied",
            then=10,
        ),
        c("get deployment app -o jsonpath={..image}", "app:2"),
        c("get deployment app -o yaml --show-managed-fields", "manager: two", since=21),
        c("scale deployment app --replicas=2", "scaled", then=10),
        c("apply --server-side --field-manager=two -f app2.yaml", ".spec.replicas", exit=1),
        c("create configmap cm --from-literal=a=b --field-manager=mine", "created", since=20),
        c("get configmap cm -o jsonpath={.metadata.managedFields[*].manager}", "mine"),
    ),
    "making": (
        c("create namespace demo", "namespace/demo created"),
        c("create deployment d --image=nginx -n demo", "deployment.apps/d created", then=30),
        c("get pods -n demo", "Running"),
        c("create configmap cm --from-literal=a=b", "configmap/cm created"),
        c("create secret generic s --from-literal=a=b", "secret/s created"),
        c("create serviceaccount robot", "serviceaccount/robot created"),
        c("create priorityclass high --value=1000", "created"),
        c("create quota q --hard=pods=100", "resourcequota/q created"),
        c("create pdb web --selector=app=web --min-available=1", "created", since=21),
        c("create job once --image=busybox", "job.batch/once created", then=30),
        c("get jobs", "once"),
        c("run x --image=nginx", "pod/x created", then=10),
        c("expose deployment web --port=80", "service/web exposed"),
        c("get service web", "ClusterIP", "80/TCP"),
        c(
            "create clusterrole r --verb=get --resource=pods",
            "clusterrole.rbac.authorization.k8s.io/r created",
        ),
        # Older ones ask for autoscaling/v1.
        c("autoscale deployment web --min=1 --max=2", "web autoscaled"),
        c("create token robot", "a run issues no tokens", exit=1, since=24),
        c("delete namespace demo --wait=false", 'namespace "demo" deleted', then=60),
        c("get pods -n demo", "No resources found"),
    ),
    "changing": (
        c('patch pod lonely -p \'{"metadata":{"labels":{"x":"y"}}}\'', "pod/lonely patched"),
        c('patch pod lonely --type=merge -p \'{"metadata":{"labels":{"x":null}}}\'', "patched"),
        c(
            'patch pod lonely --type=json -p \'[{"op":"add","path":"/metadata/labels/z","value":"1"}]\'',
            "patched",
        ),
        c("get pod lonely --show-labels", "app=lonely,z=1"),
        c("label pod lonely a=b", "pod/lonely labeled"),
        c("label pod lonely a=c", "already has a value", exit=1),
        c("label pod lonely a-", "pod/lonely"),
        c("annotate pod lonely a=b", "pod/lonely annotated"),
        c("edit deployment web", "deployment.apps/web edited", then=10),
        c("get deployment web -o jsonpath={.spec.replicas}", "4"),
        c("scale deployment web --replicas=3", "deployment.apps/web scaled", then=30),
        c("get deployment web", "3/3"),
        c("set image deployment/web c=nginx:2", "image updated"),
        c("rollout status deployment/web --timeout=60s", "successfully rolled out", plays=True),
        c("set resources deployment/web --requests=cpu=200m", "requirements updated", then=60),
        c("set env deployment/web A=b", "env updated", then=60),
        c("rollout restart deployment/web", "restarted", then=60),
        c("rollout pause deployment/web", "paused"),
        c("rollout resume deployment/web", "resumed"),
        c("taint nodes node-1 k=v:NoSchedule", "node/node-1 tainted"),
        c("taint nodes node-1 k:NoSchedule-", "untainted"),
        c("cordon node-1", "node/node-1 cordoned"),
        c("get nodes", "Ready,SchedulingDisabled"),
        c("uncordon node-1", "node/node-1 uncordoned"),
        c(
            "drain node-0 --ignore-daemonsets --force --delete-emptydir-data --timeout=60s",
            "evicting pod default/web",
            plays=True,
        ),
        c("get pods --field-selector spec.nodeName=node-0", "No resources found"),
    ),
    "deleting": (
        c("delete pod pending", 'pod "pending" deleted', plays=True),
        c("delete pod lonely --grace-period=0 --force", "force deleted"),
        c("delete pod missing", "not found", exit=1),
        c("delete pod missing --ignore-not-found"),
        c("delete pods -l app=web --wait=false", "deleted", then=60),
        c("get pods", "Running"),
        c("delete deployment web --cascade=orphan", 'deployment.apps "web" deleted', plays=True),
        c("get rs", "web-"),
        c("delete rs --all --wait=false", "deleted", then=60),
        c("delete pvc data", 'persistentvolumeclaim "data" deleted', plays=True),
        c("wait pod/lonely --for=delete --timeout=5s", since=24),
        c("get pods", "No resources found in default namespace."),
    ),
    "containers": (
        c("apply -f scripted.yaml", "job.batch/import created", "pod/shell created", then=8),
        c("get pod crash", "CrashLoopBackOff", "0/1", "1 ("),
        c(
            "describe pod crash",
            "Reason:       CrashLoopBackOff",
            "Exit Code:    1",
            "Restart Count:  1",
            "Back-off restarting failed container main in pod crash_default",
        ),
        c("logs crash", "panic: no config"),
        c("logs crash --previous", "panic: no config"),
        c("logs shell -c main --timestamps --tail=1", "ready to serve"),
        c("logs shell -c other", "container other is not valid for pod shell", exit=1),
        c("rollout status deployment/slow --timeout=1s", "0 of 2 updated", exit=1),
        c("get deployment slow", "0/2"),
        c(
            "get events --field-selector reason=Unhealthy",
            "Readiness probe failed: HTTP probe failed with statuscode: 503",
            then=30,
        ),
        c("rollout status deployment/slow", "successfully rolled out"),
        c("wait --for=condition=complete job/import --timeout=60s", "condition met", plays=True),
        c("get job import", "Complete", "1/1", since=31),
        c("logs -l job-name=import", "no connection", "imported 42 rows"),
        c("wait --for=condition=failed job/shards --timeout=60s", "condition met", plays=True),
        c("describe job shards", "Completed Indexes:  0,2"),
        c("get job shards -o jsonpath={.status.failedIndexes}", "1"),
        c("exec shell -- cat /etc/hostname", "shell", since=31),
        c("exec shell -- test -e x", "command terminated with exit code 3", exit=3, since=31),
        c("exec shell -- vim", "executable file not found in $PATH", exit=1, since=31),
        c("exec shell -- ls", "unable to upgrade connection", exit=1, before=31),
        c("exec crash -- ls", _NO_PROCESSES, exit=1),
    ),
    "refused": (
        c("logs lonely", "This is a simulation"),
        c("exec lonely -- ls", _NO_PROCESSES, exit=1),
        c("attach lonely", _NO_PROCESSES, exit=1),
        c("port-forward pod/lonely 0:80", _NO_PROCESSES, exit=1),
        c("cp lonely:/etc/hosts hosts", _NO_PROCESSES, exit=1),
        c("top nodes", exit=1, differs="usage is not simulated"),
        c("get gadgets", "the server doesn't have a resource type", exit=1),
    ),
    "past": (
        c("get pods", "lonely", "Pending", hides=("later",)),
        c("describe pod pending", "Pending"),
        c("get nodes -o wide", "node-2"),
        c("delete pod lonely --wait=false", "is in the past", "fork the run there", exit=1),
        c("auth can-i create pods", "no", exit=1),
        c("auth can-i list pods", "yes"),
        c("get pods -w --request-timeout=1s", "lonely"),
    ),
}
