"""What the admin lets fail on purpose: actions of its lists, each a command for every object chosen.

They are those of the pages (`static/js/model/run/failures.js`) and of scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django import forms
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from engine.api_server.store.faults import DRIVER_CALLS, MOST_TIMES
from kscope.runs.admin.list_actions import Chosen, ListAction, NothingMore
from kscope.runs.admin.outcomes import Body
from kscope.runs.models import ProjectedObject

_ASKED: Final = "asked"
_TIMES: Final = "times"


@dataclass(frozen=True, slots=True)
class FaultAction:
    """One way to fail. `fields` are those of the fault, with {name}, {key} and the like filled in.

    `asks` is what has to be named, "" for nothing. Without `fields` the action is the command *verb*
    on the object.
    """

    name: str
    text: str | Promise
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    asks: str | Promise = ""
    verb: str = "fault"
    # Whether it says how often a call fails.
    counts: bool = False

    def body(self, instance: ProjectedObject, asked: str, times: int) -> dict[str, Any]:
        """The body of the command for one object."""
        if not self.fields:
            return {"verb": self.verb, "object": instance.entity}
        namespace, _, name = instance.key.rpartition("/")
        named = {"key": instance.key, "name": name, "namespace": namespace, _ASKED: asked}
        patch: dict[str, Any] = {
            part: text.format(**named, entity=instance.entity) for part, text in self.fields.items()
        }
        if self.counts:
            patch[_TIMES] = times
        return {"verb": self.verb, "patch": patch}

    def as_list_action(self) -> ListAction:
        """The same as an action of a list, which asks for what is missing."""

        def bodies(row: ProjectedObject, chosen: Chosen) -> Sequence[Body]:
            return [self.body(row, chosen.get(_ASKED, ""), chosen.get(_TIMES, 1))]

        return ListAction(self.name, self.text, bodies, form=self._form())

    def _form(self) -> type[forms.Form]:
        fields: dict[str, Any] = {}
        if self.asks:
            fields[_ASKED] = forms.CharField(label=cast("Any", self.asks))
        if self.counts:
            fields[_TIMES] = forms.IntegerField(
                min_value=1,
                max_value=MOST_TIMES,
                initial=1,
                label=gettext_lazy("How often it fails"),
            )
        return type("FaultForm", (NothingMore,), fields)


_FAIL_NEXT: Final = gettext_lazy("Fail the next {call} there")


def _calls(where: Mapping[str, str]) -> tuple[FaultAction, ...]:
    return tuple(
        FaultAction(
            f"fail_{call}", format_lazy(_FAIL_NEXT, call=call), {"fail": call, **where}, counts=True
        )
        for call in DRIVER_CALLS
    )


_PRESENCE: Final = {
    "missing": gettext_lazy("Take away a {kind}"),
    "present": gettext_lazy("Bring back a {kind}"),
}
_KINDS: Final = ("Secret", "ConfigMap", "ServiceAccount")
NODE_FAULTS: Final = (
    FaultAction("stop_kubelet", gettext_lazy("Stop the kubelet"), verb="stop_kubelet"),
    FaultAction("die", gettext_lazy("Turn the power off"), {"die": "{name}"}),
    FaultAction("revive", gettext_lazy("Bring it back: power and kubelet"), {"revive": "{name}"}),
    FaultAction(
        "unregister",
        gettext_lazy("Unregister a driver there"),
        {"unregister": "{asked}", "node": "{name}"},
        asks=gettext_lazy("driver"),
    ),
    FaultAction(
        "register",
        gettext_lazy("Register a driver there"),
        {"register": "{asked}", "node": "{name}"},
        asks=gettext_lazy("driver"),
    ),
    FaultAction("full", gettext_lazy("Stop provisioning for it"), {"full": "{name}"}),
    *_calls({"node": "{name}"}),
)
POD_FAULTS: Final = (
    *(
        FaultAction(
            f"{fault}_{kind.lower()}",
            format_lazy(_PRESENCE[fault], kind=kind),
            {fault: f"{kind.lower()}/{{namespace}}/{{asked}}"},
            asks=kind,
        )
        for kind in _KINDS
        for fault in _PRESENCE
    ),
    FaultAction(
        "heal", gettext_lazy("Play on as if the containers were healthy"), {"heal": "{entity}"}
    ),
)
VOLUME_FAULTS: Final = (
    *_calls({"volume": "{name}"}),
    FaultAction(
        "fail_delete",
        gettext_lazy("Fail the next deletion of its storage"),
        {"fail": "delete", "volume": "{name}"},
        counts=True,
    ),
)
CLAIM_FAULTS: Final = (
    FaultAction(
        "fail_provision",
        gettext_lazy("Fail the next provisioning of its volume"),
        {"fail": "provision", "claim": "{key}"},
        counts=True,
    ),
)
