"""HTTP extenders: their requests, what the answers mean, and how each call is recorded.

Engines do no I/O: the caller provides an `ExtenderTransport` that sends the request. Each answer, or
failure to answer, becomes an ExtenderCalled event; a replay of the run reads these events and calls
no extender.

Upstream: pkg/scheduler/extender.go; the shapes are those of k8s.io/kube-scheduler/extender/v1,
whose keys are Go's field names and are decoded without regard to case.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import orjson

from engine.framework.pods.pod_info import PodInfo
from engine.input.any_case import folded
from engine.input.reading import ConfigurationError, Fields
from engine.kernel.errors import SimError
from engine.kernel.recorder import Recorder
from engine.kernel.units import SECOND
from engine.objects.objects import Manifest, Node
from engine.objects.pods.pod_resources import is_extended_resource_name
from engine.objects.selectors import label_key_fault

MAX_EXTENDER_PRIORITY = 10
DEFAULT_TIMEOUT = 5 * SECOND

# As a byte, and as JSON escapes it.
_NUL = ("\0", "\\u0000")

_FIELDS = (
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
)
_TLS_TEXTS = ("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")


class ExtenderError(SimError):
    """An extender did not answer, or answered with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderSettings:
    """One extender. `timeout` is ns; a verb is "" if the extender does not support it."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    bind_verb: str = ""
    weight: int = 0
    timeout: int = DEFAULT_TIMEOUT
    node_cache_capable: bool = False
    # The extender is asked only about pods that request one of these; if empty, about every pod.
    managed_resources: tuple[str, ...] = ()
    # Of those, the ones that the scheduler's own resource check leaves to the extender.
    ignored_resources: tuple[str, ...] = ()
    ignorable: bool = False

    def url(self, verb: str) -> str:
        """The address that *verb* is posted to."""
        return f"{self.url_prefix.rstrip('/')}/{verb}"

    def has_a_say(self, pod: PodInfo) -> bool:
        """Whether the extender takes part in finding a node for the pod."""
        return bool(self.filter_verb or self.prioritize_verb) and self.is_interested(pod)

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the pod wants something that the extender manages. Upstream: IsInterested()."""
        if not self.managed_resources:
            return True
        containers: list[Manifest] = [
            *(pod.pod.spec.get("containers") or ()),
            *(pod.pod.spec.get("initContainers") or ()),
        ]
        for container in containers:
            resources: Manifest = container.get("resources") or {}
            asked: tuple[Manifest, ...] = (
                resources.get("requests") or {},
                resources.get("limits") or {},
            )
            for amounts in asked:
                if any(name in amounts for name in self.managed_resources):
                    return True
        return False


class ExtenderTransport(Protocol):
    """Makes the HTTP calls to extenders."""

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        """The body of the answer, within *timeout* ns. Raises ExtenderError."""
        ...


@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """The result of one call: the body of the answer, or why there is none."""

    body: str = ""
    error: str = ""


class ExtenderCalls:
    """All calls of one run, numbered from 1.

    Call n is answered from `answers` where it is known already, else by `transport`. Neither is
    part of a checkpoint: the code that restores one sets them again.
    """

    def __init__(self, recorder: Recorder | None = None) -> None:
        self._recorder = recorder
        self.number = 0
        self.transport: ExtenderTransport | None = None
        self.answers: dict[int, ExtenderAnswer] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "transport": None, "answers": {}}

    def remember(self, data: Mapping[str, Any]) -> None:
        """Answer call `data["call"]` as the ExtenderCalled event with this *data* says."""
        self.answers[int(data["call"])] = ExtenderAnswer(
            data.get("answer") or "", data.get("error") or ""
        )

    def post(self, extender: ExtenderSettings, verb: str, pod: PodInfo, body: Manifest) -> Any:
        """The decoded answer. Raises ExtenderError."""
        self.number += 1
        url = extender.url(verb)
        answer = self.answers.pop(self.number, None)
        if answer is None:
            answer = self._really_post(url, body, extender.timeout)
        if self._recorder is not None:
            data = {"call": self.number, "url": url, "verb": verb}
            data |= {"error": answer.error} if answer.error else {"answer": answer.body}
            message = f"{url}: {answer.error or 'answered'}"
            self._recorder.record("ExtenderCalled", pod.pod.id, "scheduler", message, data)
        if answer.error:
            raise ExtenderError(answer.error)
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            raise ExtenderError(f"extender at URL {url} did not answer in JSON: {error}") from error

    def _really_post(self, url: str, body: Manifest, timeout: int) -> ExtenderAnswer:
        if self.transport is None:
            return ExtenderAnswer(error=f"Post {url}: no extender may be called from here")
        try:
            text = self.transport.post(url, orjson.dumps(body), timeout).decode()
        except (ExtenderError, UnicodeDecodeError) as error:
            return ExtenderAnswer(error=str(error))
        if any(nul in text for nul in _NUL):
            # The database cannot store U+0000.
            return ExtenderAnswer(
                error=f"extender at URL {url} answered with a text that has U+0000 in it"
            )
        return ExtenderAnswer(body=_trimmed(text))


@dataclass(slots=True)
class Filtered:
    """The nodes that an extender leaves, and why it removed the others."""

    names: list[str]
    failed: dict[str, str] = field(default_factory=dict[str, str])
    unresolvable: dict[str, str] = field(default_factory=dict[str, str])
    # Whether the extender sent back whole nodes, not only their names.
    in_full: bool = False


@dataclass(slots=True)
class Preempted:
    """A candidate as an extender sees it: uids of the victims, and disruption budgets broken."""

    victims: list[str]
    violations: int


class Extender:
    """One extender of a scheduler."""

    def __init__(self, settings: ExtenderSettings, calls: ExtenderCalls) -> None:
        self.settings = settings
        self._calls = calls

    @property
    def name(self) -> str:
        """Its address."""
        return self.settings.url_prefix

    def filter(
        self, pod: PodInfo, nodes: Sequence[Node], cluster: Container[str] | None = None
    ) -> Filtered:
        """The nodes that the extender leaves, in its order. Raises ExtenderError.

        Whole nodes that it sends back may be any nodes. Names that it sends back must be among
        *nodes*; if the names of the *cluster* are given, as in v1.16, among these.
        """
        names = [node.name for node in nodes]
        if not self.settings.filter_verb:
            return Filtered(names)
        body = self._about(pod, nodes)
        answer = self._mapping(
            self._calls.post(self.settings, self.settings.filter_verb, pod, body)
        )
        if answer.get("error"):
            raise ExtenderError(str(answer["error"]))
        try:
            in_full = not (self.settings.node_cache_capable and answer.get("nodenames") is not None)
            left = self._names_in(answer, in_full=in_full)
        except (AttributeError, KeyError, TypeError) as error:
            raise self._misshapen("nodes", error) from error
        known = frozenset(names) if cluster is None else cluster
        where = "the input node list" if cluster is None else "nodeNameToInfo map"
        for name in () if in_full else left:
            if name not in known:
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in '
                    f"{where}"
                )
        return Filtered(
            left,
            _texts(answer.get("failednodes")),
            _texts(answer.get("failedandunresolvablenodes")),
            in_full,
        )

    @staticmethod
    def _names_in(answer: Manifest, *, in_full: bool) -> list[str]:
        if not in_full:
            return [str(name) for name in answer["nodenames"]]
        listed: Any = folded(answer.get("nodes")).get("items") or ()
        return [str(node["metadata"]["name"]) for node in listed]

    def prioritize(self, pod: PodInfo, nodes: Sequence[Node]) -> dict[str, int]:
        """Scores by node, before the weight. Raises ExtenderError."""
        if not self.settings.prioritize_verb:
            return {}
        body = self._about(pod, nodes)
        answer = self._calls.post(self.settings, self.settings.prioritize_verb, pod, body)
        if answer is None:
            return {}
        if not isinstance(answer, list):
            raise ExtenderError(f"extender {self.name}: expected a list of host priorities")
        scores: dict[str, int] = {}
        for entry in cast("list[Any]", answer):
            score_fields = self._mapping(entry)
            host, score = str(score_fields.get("host") or ""), score_fields.get("score") or 0
            if isinstance(score, bool) or not isinstance(score, int):
                raise ExtenderError(f"extender {self.name}: {score!r} is not an integer")
            # Several scores for one node are added.
            scores[host] = scores.get(host, 0) + score
        return scores

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, tuple[Sequence[PodInfo], int]]
    ) -> dict[str, Preempted]:
        """Which of the candidates the extender agrees to, and with which victims.

        *victims* maps nodes to pods and broken budgets. Raises ExtenderError.
        """
        full: dict[str, Any] | None = None
        meta: dict[str, Any] | None = None
        if self.settings.node_cache_capable:
            meta = {
                node: {"Pods": [{"UID": p.uid} for p in pods], "NumPDBViolations": count}
                for node, (pods, count) in victims.items()
            }
        else:
            full = {
                node: {"Pods": [p.pod.raw for p in pods], "NumPDBViolations": count}
                for node, (pods, count) in victims.items()
            }
        body: Manifest = {"Pod": pod.pod.raw}
        body |= {"NodeNameToVictims": full, "NodeNameToMetaVictims": meta}
        answer = self._mapping(
            self._calls.post(self.settings, self.settings.preempt_verb, pod, body)
        )
        preempted: dict[str, Preempted] = {}
        try:
            found: Mapping[str, Any] = answer.get("nodenametometavictims") or {}
            for node, entry in found.items():
                parts = folded(entry)
                uids = [str(folded(each).get("uid", "")) for each in parts.get("pods") or ()]
                preempted[node] = Preempted(uids, int(parts.get("numpdbviolations") or 0))
        except (AttributeError, TypeError, ValueError) as error:
            raise self._misshapen("victims", error) from error
        return preempted

    def bind(self, pod: PodInfo, node: str) -> None:
        """Ask the extender to bind the pod. Raises ExtenderError."""
        body = {
            "PodName": pod.pod.name,
            "PodNamespace": pod.pod.namespace,
            "PodUID": pod.uid,
            "Node": node,
        }
        answer = self._calls.post(self.settings, self.settings.bind_verb, pod, body)
        error = folded(answer).get("error")
        if error:
            raise ExtenderError(str(error))

    def _about(self, pod: PodInfo, nodes: Sequence[Node]) -> Manifest:
        """ExtenderArgs."""
        names: list[str] | None = None
        listed: Manifest | None = None
        if self.settings.node_cache_capable:
            names = [node.name for node in nodes]
        else:
            listed = {"metadata": {}, "items": [node.raw for node in nodes]}
        return {"Pod": pod.pod.raw, "Nodes": listed, "NodeNames": names}

    def _misshapen(self, what: str, error: Exception) -> ExtenderError:
        return ExtenderError(f"extender {self.name}: its {what} are not as expected: {error!r}")

    def _mapping(self, answer: Any) -> Manifest:
        if not isinstance(answer, dict):
            raise ExtenderError(f"extender {self.name}: expected a mapping as answer")
        return folded(answer)


def _trimmed(text: str) -> str:
    """*text* with only the name of each node: nothing else is read, and all is recorded."""
    try:
        answer = orjson.loads(text)
        if not isinstance(answer, dict):
            return text
        trimmed = cast("Manifest", answer)
        for key, value in trimmed.items():
            items: Any = folded(value).get("items") if key.lower() == "nodes" else None
            if items:
                names = [{"metadata": {"name": node["metadata"]["name"]}} for node in items]
                trimmed = {**trimmed, key: {"items": names}}
    except (KeyError, TypeError, ValueError):
        # The code that reads the answer reports what is wrong with it.
        return text
    return orjson.dumps(trimmed).decode()


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): str(text) for key, text in cast("Manifest", value).items()}


def read_extenders(holder: Fields, *, legacy: bool) -> tuple[ExtenderSettings, ...]:
    """The `extenders` of a configuration, or with *legacy* of a Policy.

    Raises ConfigurationError. Upstream: validation.go validateExtenders().
    """
    found: list[ExtenderSettings] = []
    managed: dict[str, str] = {}
    binders = 0
    for item in holder.items("extenders"):
        # Upstream: caseInsensitiveExtenderConfig.
        fields = Fields(item.raw, item.path, any_case=legacy)
        if not legacy:
            fields.only(*_FIELDS)
        settings = _read_extender(fields, legacy)
        if settings.prioritize_verb and settings.weight <= 0:
            problem = "must have a positive weight applied to it"
            if legacy:
                problem = (
                    f"Priority for extender {settings.url_prefix} should have a positive weight "
                    "applied to it"
                )
            raise fields.error("weight", problem)
        binders += bool(settings.bind_verb)
        if binders > 1:
            problem = "only one extender can implement bind"
            if legacy:
                problem = f"Only one extender can implement bind, found {binders}"
            raise fields.error("bindVerb", problem)
        for name in settings.managed_resources:
            if name in managed:
                problem = f"uplicate extender managed resource name {name}"
                raise fields.error("managedResources", ("D" if legacy else "d") + problem)
            managed[name] = name
        found.append(settings)
    # Upstream: buildExtenders(), CreateFromConfig(): ignorable extenders are asked last.
    return tuple(sorted(found, key=_is_ignorable))


def _is_ignorable(settings: ExtenderSettings) -> bool:
    return settings.ignorable


def _read_extender(fields: Fields, legacy: bool) -> ExtenderSettings:
    if not fields.text("urlPrefix"):
        raise fields.error("urlPrefix", "is missing")
    _check_tls(fields, legacy)
    names: list[str] = []
    ignored: list[str] = []
    for resource in fields.items("managedResources"):
        name = resource.text("name")
        fault = label_key_fault(name)
        if fault is not None:
            raise resource.error("name", fault)
        if not is_extended_resource_name(name) or label_key_fault(f"requests.{name}"):
            raise resource.error("name", f"{name} is an invalid extended resource name")
        names.append(name)
        if resource.boolean("ignoredByScheduler"):
            ignored.append(name)
    return ExtenderSettings(
        url_prefix=fields.text("urlPrefix"),
        filter_verb=fields.text("filterVerb"),
        preempt_verb=fields.text("preemptVerb"),
        prioritize_verb=fields.text("prioritizeVerb"),
        bind_verb=fields.text("bindVerb"),
        weight=fields.integer("weight", 0),
        timeout=_timeout(fields, legacy),
        node_cache_capable=fields.boolean("nodeCacheCapable"),
        managed_resources=tuple(names),
        ignored_resources=tuple(ignored),
        ignorable=fields.boolean("ignorable"),
    )


def _check_tls(fields: Fields, legacy: bool) -> None:
    """Check that the TLS settings can be read. They have no effect: the transport has its own."""
    fields.boolean("enableHTTPS")
    tls = fields.mapping("tlsConfig")
    if tls is None:
        return
    if not legacy:
        tls.only("insecure", *_TLS_TEXTS)
    tls.boolean("insecure")
    for name in _TLS_TEXTS:
        tls.text(name)


def _timeout(fields: Fields, legacy: bool) -> int:
    """A Policy's httpTimeout is a Go Duration, an integer of ns; a configuration's is a text."""
    value = fields.get("httpTimeout")
    if not legacy:
        if value is not None and not isinstance(value, str):
            raise fields.error("httpTimeout", 'expected a duration like "5s"')
        return fields.duration("httpTimeout", DEFAULT_TIMEOUT) or DEFAULT_TIMEOUT
    if isinstance(value, str):
        raise ConfigurationError(
            fields.at("httpTimeout"),
            value,
            f'"{value}" is not a number: in a Policy it is an integer of nanoseconds',
        )
    return fields.integer("httpTimeout", DEFAULT_TIMEOUT, low=0) or DEFAULT_TIMEOUT
