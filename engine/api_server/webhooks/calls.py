"""Calls webhooks: which of them are about a write, and what their servers answer.

Upstream: apiserver/pkg/admission/plugin/webhook/generic/webhook.go, ShouldCallHook(), and
apiserver/pkg/util/webhook/{client,error}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Final, NamedTuple

from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.given import labels_of_namespace, variables_of
from engine.api_server.policies.told import audited, warned_by_webhook
from engine.api_server.policies.writes import Write
from engine.api_server.webhooks.servers import CallError, Server, Servers
from engine.kernel.errors import Denied
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.scripts.script import WebhookAnswer

IGNORE: Final = "Ignore"
# Upstream: pkg/apis/admissionregistration/v1/defaults.go.
_SECONDS: Final = 10
_PORT: Final = 443
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
}
_SERVER_FAILED: Final = "InternalError"
_UNTRUSTED: Final = (
    "tls: failed to verify certificate: x509: certificate signed by unknown authority"
)


class Hook(NamedTuple):
    """A webhook, its place among those of its kind, and its server."""

    place: int
    raw: Manifest
    server: Server

    @property
    def name(self) -> str:
        """As refusals call it."""
        return str(self.raw.get("name"))

    @property
    def is_ignored(self) -> bool:
        """Whether a call that fails counts as one that allows the write."""
        return self.raw.get("failurePolicy") == IGNORE


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The webhooks of the configurations of one kind."""

    KIND: ClassVar[str] = ""
    # What audit annotations of calls that failed begin with.
    FAILED_OPEN: ClassVar[str] = ""

    servers: Servers

    @property
    def are_there(self) -> bool:
        """Whether any webhook could be called."""
        return bool(self.servers.store.objects(self.KIND)) and self.servers.are_there

    def hooks(self) -> Iterator[tuple[int, Manifest]]:
        """The webhooks with their places, in the order in which they are called."""
        if not self.are_there:
            return
        found = sorted(self.servers.store.objects(self.KIND), key=lambda one: one.name)
        yield from enumerate(hook for one in found for hook in items(one.raw, "webhooks"))

    def called(self, place: int, raw: Manifest, write: Write) -> Hook | None:
        """The webhook, where it is to be called for the write and has a server.

        Raises Denied where its conditions do not say whether it is.
        """
        store = self.servers.store
        if write.is_exempt or not raw.get("rules"):
            return None
        match = {**raw, "resourceRules": raw["rules"]}
        if not write.is_matched(match, labels_of_namespace(store, write.namespace)):
            return None
        server = self.servers.behind(section(raw, "clientConfig", "service"))
        if server is None:
            return None
        try:
            is_wanted = Evaluation(raw, variables_of(store, write)).is_wanted()
        except PolicyError as error:
            if raw.get("failurePolicy") == IGNORE:
                return None
            why = f'{write.group_resource} "{write.name}" is forbidden: {error}'
            raise Denied(why, "Forbidden") from None
        return Hook(place, raw, server) if is_wanted else None

    def failed(self, hook: Hook, failure: CallError, round_of_calls: int, told: list[str]) -> None:
        """A call fails: raises Denied, or adds to *told* that this is ignored."""
        if not hook.is_ignored:
            raise failed_call(hook, f"failed to call webhook: {failure}") from None
        key = f"{self.FAILED_OPEN}round_{round_of_calls}_index_{hook.place}"
        told.append(audited(key, hook.name))

    def allowed_by(self, hook: Hook, write: Write, told: list[str]) -> WebhookAnswer | None:
        """What the server answers that allows the write, if it says anything of such writes.

        Raises CallError, and Denied where the server does not allow it. What it warns of is added to
        *told*.
        """
        answer = self._answer_to(hook, write)
        if answer is None:
            return None
        told += map(warned_by_webhook, answer.warnings)
        evaluation = Evaluation(answer.rules, variables_of(self.servers.store, write))
        try:
            failures = [
                evaluation.message(rule)
                for rule in items(answer.rules, "validations")
                if not evaluation.is_true(rule)
            ]
        except PolicyError as error:
            raise _broken(error) from None
        if failures:
            # Upstream: webhook/errors/statuserror.go, ToStatusErr().
            why = f'admission webhook "{hook.name}" denied the request: {"; ".join(failures)}'
            raise Denied(why, _REASONS.get(answer.code, _SERVER_FAILED))
        return answer

    def _answer_to(self, hook: Hook, write: Write) -> WebhookAnswer | None:
        """The first answer to such a request. Raises CallError where none comes, or too late."""
        service = section(hook.raw, "clientConfig", "service")
        path, port = str(service.get("path") or "/"), int(service.get("port") or _PORT)
        seconds = int(hook.raw.get("timeoutSeconds") or _SECONDS)
        host = f"{service.get('name')}.{service.get('namespace')}.svc:{port}"
        post = f'Post "https://{host}{path}?timeout={seconds}s"'
        try:
            answers = hook.server.answers_at(port)
        except CallError as error:
            raise CallError(f"{post}: {error}") from None
        if not section(hook.raw, "clientConfig").get("caBundle"):
            raise CallError(f"{post}: {_UNTRUSTED}")
        at_path = [one for one in answers if fnmatchcase(path, one.path)]
        if not at_path:
            raise CallError("the server could not find the requested resource")
        given = variables_of(self.servers.store, write)
        answer = next((one for one in at_path if _is_about(one, given)), None)
        if answer is not None and (answer.latency is None or answer.latency > seconds * SECOND):
            raise CallError(f"{post}: context deadline exceeded")
        return answer


def failed_call(hook: Hook, why: str) -> Denied:
    """Upstream: ErrCallingWebhook.Error(), in NewInternalError()."""
    called = f'failed calling webhook "{hook.name}": {why}'
    return Denied(f"Internal error occurred: {called}", _SERVER_FAILED)


def _is_about(answer: WebhookAnswer, given: Mapping[str, Any]) -> bool:
    try:
        return Evaluation(answer.rules, given).is_wanted()
    except PolicyError as error:
        raise _broken(error) from None


def _broken(error: PolicyError) -> CallError:
    """The script of a server cannot be followed: it answers with 500.

    Upstream: apimachinery/pkg/api/errors/errors.go, NewGenericServerResponse().
    """
    return CallError(
        f'an error on the server ("{error}") has prevented the request from succeeding'
    )
