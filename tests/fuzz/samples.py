"""What is broken at random: the files of this repository, and commands made of a cluster's objects."""

import io
import json
import tarfile
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import orjson
import yaml

from engine.api_server.store.faults import KINDS as FAULTS
from engine.cluster.cluster import Cluster
from engine.input.scenario import STEP_VERBS
from tests.properties.broken import DRIVER, broken_scenario
from tests.properties.mutations import NONSENSE, mutated

HERE = Path(__file__).parents[1]
# Small files: what matters is in them, and a large one takes its time for being large.
_LARGEST = 30_000
FILES = [
    path
    for folder in (HERE.parent / "scenarios", *sorted((HERE / "vectors").glob("decisions-*")))
    for path in sorted(folder.glob("*.yaml"))
    if path.stat().st_size < _LARGEST
]
# What no file can say, but JSON can, or a file at great length.
HOSTILE: tuple[Any, ...] = (
    *NONSENSE,
    *("\0", "a\0b", "\ud800", "\U0001f600", "é" * 300, "x" * 5_000, "a/b/c", "../..", "1" * 400),
    *(2**31 - 1, 2**53, 2**64, -(2**64), 1e308, 1e-9),
    *([[[[[[[[["a"]]]]]]]]], {"a": [{"b": [{"c": 1}]}]}, {"": ""}, {"a/b/c": "x"}),
)
# More of what a Scenario or a scheduler's configuration may hold than the scenarios here have.
_HEADER = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: my-case}
spec:
  title: One line
  question: What should be learned?
  profile: v1.34
  seed: 7
  duration: 30s
  latencies: {bind: 5ms, provision: {uniform: [1s, 3s]}, attach: {normal: [1s, 200ms]}}
  schedulers:
  - {name: default-scheduler, replicas: 2}
  - {name: second, profile: v1.34}
  faults:
  - {fail: attach, volume: pv-1, times: 2}
  - {slow: pv-controller, delay: 2s, at: 3s}
  - {lag: Pod, delay: 1s}
  steps:
  - {at: 2s, create: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}}
  - {at: 3s, patch: {object: node/n1, patch: {spec: {taints: [{key: a, effect: NoExecute}]}}}}
  - {at: 4s, cordon: n1}
  - {at: 5s, delete: {object: pod/default/a, grace_seconds: 1, propagation: Foreground}}
  - {at: 6s, replace: [{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c}]}}]}
  - {at: 7s, evict_pods: {object: node/n1}}
  - {at: 8s, fault: {die: n1}}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
"""
_MODERN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 4
percentageOfNodesToScore: 50
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
leaderElection: {leaderElect: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
profiles:
- schedulerName: default-scheduler
  percentageOfNodesToScore: 30
  plugins:
    filter: {enabled: [{name: NodeName}], disabled: [{name: NodePorts}]}
    score: {enabled: [{name: NodeAffinity, weight: 3}], disabled: [{name: '*'}]}
    multiPoint: {enabled: [{name: ImageLocality, weight: 2}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 2}]}
      ignoredResources: [example.com/foo]
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 3}
  - name: VolumeBinding
    args: {bindTimeoutSeconds: 60}
extenders:
- urlPrefix: http://127.0.0.1:1/x
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 2
  nodeCacheCapable: true
  ignorable: true
  managedResources: [{name: example.com/foo, ignoredByScheduler: true}]
"""
_POLICY = """
apiVersion: v1
kind: Policy
hardPodAffinitySymmetricWeight: 2
alwaysCheckAllPredicates: true
predicates:
- {name: PodFitsResources}
- {name: TestLabels, argument: {labelsPresence: {labels: [zone], presence: true}}}
- {name: TestService, argument: {serviceAffinity: {labels: [zone]}}}
priorities:
- {name: LeastRequestedPriority, weight: 1}
- {name: Spread, weight: 2, argument: {serviceAntiAffinity: {label: zone}}}
- name: Ratio
  weight: 2
  argument:
    requestedToCapacityRatioArguments:
      shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
      resources: [{name: cpu, weight: 2}]
"""
CONFIGURATIONS = (_MODERN, _POLICY)


@cache
def documents(path: Path) -> list[Any]:
    """The documents of a file."""
    return list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))


@cache
def _parsed(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def _few(found: list[Any], chance: Random) -> list[Any]:
    """Some of a file's documents, in their order: less to read, and more of it broken."""
    kept = sorted(chance.sample(range(len(found)), min(len(found), chance.choice((3, 6, 9)))))
    return [found[place] for place in kept]


def manifests(chance: Random) -> bytes:
    """A cluster's objects, some of them changed."""
    return dumped(mutated(_few(documents(chance.choice(FILES)), chance), chance))


def scenario(chance: Random) -> bytes:
    """A scenario with a header that says everything, some of it changed."""
    return dumped(mutated(_parsed(_HEADER), chance))


def configuration(chance: Random) -> bytes:
    """A scheduler's configuration, changed, and a node that it may schedule to."""
    changed = mutated(_parsed(chance.choice(CONFIGURATIONS)), chance)
    return dumped([*changed, _parsed(_HEADER)[1]])


def dumped(changed: Sequence[Any]) -> bytes:
    """Documents as YAML."""
    return yaml.dump_all(changed, Dumper=yaml.CSafeDumper).encode()


_TOKENS = (
    *(b"\0", b"\xff", b"\xed\xa0\x80", b"\t", b"&a", b"*a", b"<<: ", b"!!binary ", b"!!python/x "),
    *(b"{", b"}", b"[" * 200, b"]", b"- " * 150, b"? ", b": ", b"|\n", b">-\n", b"---\n", b"...\n"),
    *(b'"', b"'", b"\\u0000", b"\\ud800", b"%YAML 9.9\n", b"1e999", b"9" * 70, b"\xef\xbb\xbf"),
    *(b"\xe2\x80\xa8", b"\r", b"#", b"@", b"`", b"null", b"0x", b"-.inf", b".nan", b"2001-01-01"),
)


def broken_bytes(data: bytes, chance: Random) -> bytes:
    """*data* with one to six pieces cut, doubled, overwritten or put in."""
    text = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((1, 1, 2, 8, 60, 600)))
        kind = chance.random()
        if kind < 0.2:
            del text[start:end]
        elif kind < 0.35:
            text[start:start] = text[start:end]
        elif kind < 0.6 and start < len(text):
            text[start] = chance.randrange(256)
        elif kind < 0.65:
            del text[start:]
        else:
            text[start:start] = chance.choice(_TOKENS)
    return bytes(text)


def some_bytes(chance: Random) -> tuple[str, bytes]:
    """A file of a name, broken at random."""
    if chance.random() < 0.3:
        text = chance.choice((_HEADER, *CONFIGURATIONS)).encode()
    else:
        text = b"\n---\n".join(_few(_texts(chance.choice(FILES)), chance))
    if chance.random() < 0.3:
        loaded = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
        items = {"apiVersion": "v1", "kind": "List", "items": loaded}
        text = orjson.dumps(items, default=str, option=orjson.OPT_NON_STR_KEYS)
        return "a.json", broken_bytes(text, chance)
    return "a.yaml", broken_bytes(text, chance)


@cache
def _texts(path: Path) -> list[bytes]:
    return [each for each in path.read_bytes().split(b"\n---\n") if each.strip()]


CLUSTERS = 12


@cache
def warm_cluster(number: int) -> tuple[bytes, list[dict[str, Any]]]:
    """A cluster in the midst of it, as a checkpoint, and the manifests of all that it holds."""
    cluster = Cluster.create(
        broken_scenario(number), profile=("v1.34", "v1.20", "v1.16", "v1.11")[number % 4]
    )
    cluster.advance(20_000_000_000)
    cluster.take()
    held = [
        {"id": obj.id, **obj.raw}
        for kind in cluster.store.kinds()
        for obj in cluster.store.objects(kind)
    ]
    return cluster.checkpoint(), held


def command(chance: Random, held: list[dict[str, Any]]) -> dict[str, Any]:
    """What a user may send to a cluster that holds these objects, mostly with a fault in it."""
    known = deepcopy(chance.choice(held))
    entity = known.pop("id")
    kind = chance.random()
    if kind < 0.35:
        (changed,) = mutated([known], chance, HOSTILE) or [{}]
        if chance.random() < 0.5 and isinstance(changed.get("metadata"), dict):
            changed["metadata"].pop("uid", None)
            changed["metadata"].pop("resourceVersion", None)
            if chance.random() < 0.5:
                changed["metadata"]["name"] = "another"
        verb = chance.choice(("create", "apply", "apply", "replace"))
        body: dict[str, Any] = {"verb": verb, "manifest": changed}
    elif kind < 0.75:
        (changed,) = mutated([known], chance, HOSTILE) or [{}]
        patch = {name: part for name, part in changed.items() if known.get(name) != part}
        if isinstance(patch.get("metadata"), dict) and chance.random() < 0.8:
            for name in ("name", "namespace", "uid", "resourceVersion"):
                patch["metadata"].pop(name, None)
        body = {"verb": "patch", "object": entity, "patch": patch}
    elif kind < 0.85:
        fault = {
            chance.choice(tuple(FAULTS)): chance.choice(
                ("mount", "pv-controller", "n0", "Pod", DRIVER, entity, chance.choice(HOSTILE))
            ),
            chance.choice(("delay", "times", "zone", "probability", "by", "node")): chance.choice(
                (1, "1s", "n0", "scheduler", chance.choice(HOSTILE))
            ),
        }
        body = {"verb": "fault", "patch": fault}
    else:
        verb = chance.choice(STEP_VERBS)
        body = {"verb": verb, "object": entity, "grace_seconds": chance.choice((0, 1, 30))}
    if chance.random() < 0.15:
        part = chance.choice((*body, "grace_seconds", "propagation", "manifest", "patch", "object"))
        body[part] = deepcopy(chance.choice(HOSTILE))
    return body


SMALL = sorted(
    each
    for each in (HERE / "real" / "small").rglob("*")
    if each.suffix in (".json", ".yaml", ".jsonl")
)
# A choice at an import, right or wrong.
_CHOICES = {
    "nodes": ("", "", "2xm5.large", "1xn1:zone=a,b", "0xkind", "1x", "9" * 400, "1xkind:zone=\0"),
    "selector": ("", "", "app=web", "a in (b", "!", "x=y,z notin (a)"),
    "kinds": ("", "", "pods", "\0"),
    "watch": ("", "newest", "recording", "both"),
    "case": ("", "", "SchedulingBasic/5Nodes", "x"),
    "ignore_unknown_plugins": ("", "on"),
}


def small_input(chance: Random) -> tuple[str, bytes, dict[str, str]]:
    """A small input of any format, broken by its bytes or by its values, perhaps packed; and choices."""
    path = chance.choice(SMALL)
    data, name = path.read_bytes(), path.name
    if chance.random() < 0.6 and name not in ("17-helm-template.yaml", "values.yaml"):
        data = _with_broken_values(data, chance)
    else:
        data = broken_bytes(data, chance)
    if chance.random() < 0.2:
        name, data = _packed(name, data, chance)
    return name, data, {key: chance.choice(texts) for key, texts in _CHOICES.items()}


def _with_broken_values(data: bytes, chance: Random) -> bytes:
    try:
        documents, rest = [], data.decode()
        while rest.strip():
            value, end = json.JSONDecoder().raw_decode(rest.strip())
            documents.append(value)
            rest = rest.strip()[end:]
    except ValueError:
        documents = [each for each in yaml.load_all(data, Loader=yaml.CSafeLoader) if each]
    if not documents:
        return broken_bytes(data, chance)
    broken = mutated(documents, chance, HOSTILE)
    separator = chance.choice(("\n", "\n---\n"))
    return separator.join(map(json.dumps, broken)).encode()


def _packed(name: str, data: bytes, chance: Random) -> tuple[str, bytes]:
    """The file in an archive, which may be broken as well."""
    out = io.BytesIO()
    if chance.random() < 0.5:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"a/{name}", data)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            info = tarfile.TarInfo(f"a/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    packed = out.getvalue()
    return "a.bin", broken_bytes(packed, chance) if chance.random() < 0.5 else packed
