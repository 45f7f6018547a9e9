"""Finds what answers a webhook: a container behind its Service of which a script says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.api_server.store.grouped import WORKLOADS
from engine.api_server.store.held_objects import Objects
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready
from engine.objects.scripts.matching import all_containers, script_followed, scripts_for
from engine.objects.scripts.script import Script, WebhookAnswer

_STATUSES: Final = ("initContainerStatuses", "containerStatuses")
# What a server may be a part of: the pods of workloads are known before there are any.
BEHIND: Final = (Pod.KIND, *WORKLOADS)


class CallError(Exception):
    """A webhook cannot be called, or its server fails: what its failurePolicy is about."""


@dataclass(frozen=True, slots=True)
class Server:
    """What is behind the Service of a webhook; without answers nothing there is ready."""

    service: ApiObject
    answers: tuple[WebhookAnswer, ...] | None

    def answers_at(self, port: int) -> tuple[WebhookAnswer, ...]:
        """What it answers at a port of the Service. Raises CallError.

        Upstream: apiserver/pkg/util/proxy/proxy.go, ResolveEndpoint().
        """
        name = self.service.name
        if all(one.get("port") != port for one in items(self.service.spec, "ports")):
            raise CallError(f'no service port {port} found for service "{name}"')
        if self.answers is None:
            raise CallError(f'no endpoints available for service "{name}"')
        return self.answers


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers among the pods of *store*, as *scripts*, the entries of the scenario, say."""

    store: Objects
    scripts: Sequence[Script]

    @property
    def are_there(self) -> bool:
        """Whether any entry answers webhooks."""
        return answer_webhooks(self.scripts)

    def behind(self, service: Mapping[str, Any]) -> Server | None:
        """The server that `clientConfig.service` names; None where no script answers for one."""
        key = f"{service.get('namespace')}/{service.get('name')}"
        found = self.store.find("Service", key)
        selector: Mapping[str, str] = found.spec.get("selector") or {} if found is not None else {}
        if found is None or not selector:
            return None
        is_known = False
        for pod in self._pods(found.namespace, selector):
            answers = self._answers_of(pod)
            if answers is None:
                continue
            is_known = True
            if is_ready(pod) and not pod.deletion_timestamp:
                return Server(found, answers)
        return Server(found, None) if is_known else None

    def _pods(self, namespace: str, selector: Mapping[str, str]) -> Iterator[Pod]:
        """Those that the Service selects, by name, and those that workloads would create for it."""
        pods = [
            one
            for one in self.store.grouped(Pod.KIND).labelled(namespace, selector)
            if isinstance(one, Pod)
            and one.namespace == namespace
            and selector.items() <= one.labels.items()
        ]
        yield from sorted(pods, key=lambda one: one.name)
        for kind in WORKLOADS:
            for one in self.store.grouped(kind).labelled(namespace, selector):
                pod = _pod_of(one)
                if one.namespace == namespace and selector.items() <= pod.labels.items():
                    yield pod

    def _answers_of(self, pod: Pod) -> tuple[WebhookAnswer, ...] | None:
        entries = scripts_for(pod, self.scripts)
        told = {one.get("name"): one for field in _STATUSES for one in items(pod.status, field)}
        for container in all_containers(pod):
            status: Manifest = told.get(container.get("name")) or {}
            script = script_followed(pod, container, status, entries)
            if script.webhooks is not None:
                return script.webhooks
        return None


def answer_webhooks(scripts: Sequence[Script]) -> bool:
    """Whether any of the entries says what a server answers."""
    return any(one.webhooks is not None for one in scripts)


def _pod_of(workload: ApiObject) -> Pod:
    """A pod of its template, of which nothing is ready."""
    template = section(workload.spec, "template")
    own = {"name": f"{workload.name}-0", "namespace": workload.namespace}
    metadata = {**section(template, "metadata"), **own}
    spec = section(template, "spec")
    return Pod({"apiVersion": "v1", "kind": Pod.KIND, "metadata": metadata, "spec": spec})
