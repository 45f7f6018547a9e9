"""What is done to nodes that are chosen in the admin's list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.utils.translation import gettext, gettext_lazy, ngettext

from engine.kernel.units import timestamp
from engine.kubelet.node_status import HEALTHY, RUNTIME_DOWN
from kscope.runs.admin.list_actions import DELETE, Chosen, ListAction, NothingMore, of_verb
from kscope.runs.admin.outcomes import Body
from kscope.runs.errors import ApplicationError
from kscope.words.joining import listed, sentences
from scheduling.drain import drain_preview
from scheduling.models import Node

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_READY: Final = "Ready"


class TaintForm(NothingMore):
    """One taint."""

    key = forms.CharField(label=gettext_lazy("Key"), max_length=316)
    value = forms.CharField(label=gettext_lazy("Value"), max_length=63, required=False)
    effect = forms.ChoiceField(
        label=gettext_lazy("Effect"), choices=[(effect, effect) for effect in EFFECTS]
    )


def tainted(row: Node, chosen: Chosen) -> Sequence[Body]:
    """The command that adds the taint, or gives that of the same key and effect another value."""
    taint = {name: chosen[name] for name in ("key", "value", "effect") if chosen[name]}
    known: list[dict[str, Any]] = (row.manifest.get("spec") or {}).get("taints") or []
    same = (taint["key"], taint["effect"])
    kept = [each for each in known if (each.get("key"), each.get("effect")) != same]
    return [_patch(row, {"spec": {"taints": [*kept, taint]}})]


def marked_not_ready(row: Node, _: Chosen) -> Sequence[Body]:
    """The command after which the condition Ready is False: its kubelet syncs no pod."""
    return [_with_ready(row, RUNTIME_DOWN)]


def marked_ready(row: Node, _: Chosen) -> Sequence[Body]:
    """The command after which it is Ready: of a silent kubelet its start, else the condition."""
    if _ready_of(row).get("status") == "Unknown":
        return [{"verb": "start_kubelet", "object": row.entity}]
    return [_with_ready(row, HEALTHY["Ready"])]


def _with_ready(row: Node, wanted: Mapping[str, Any]) -> Body:
    old = _ready_of(row)
    since = {"lastTransitionTime": timestamp(row.run.clock)}
    new = {**old, **wanted, **({} if old.get("status") == wanted["status"] else since)}
    others = [each for each in _conditions(row) if each.get("type") != _READY]
    return _patch(row, {"status": {"conditions": [*others, {"type": _READY, **new}]}})


def _ready_of(row: Node) -> dict[str, Any]:
    found = [each for each in _conditions(row) if each.get("type") == _READY]
    return found[0] if found else {}


def _conditions(row: Node) -> list[dict[str, Any]]:
    return (row.manifest.get("status") or {}).get("conditions") or []


def _patch(row: Node, patch: dict[str, Any]) -> Body:
    """A patch replaces lists as a whole: of a node that has changed meanwhile it is a conflict."""
    version = {"metadata": {"resourceVersion": row.metadata("resourceVersion")}}
    return {"verb": "patch", "object": row.entity, "patch": {**version, **patch}}


def drain_words(row: Node) -> str:
    """What draining the node does to its pods, as far as that is known now."""
    try:
        found = drain_preview(row.run, row.key)
    except ApplicationError as problem:
        return problem.message
    evicted = ngettext("{number} pod is evicted.", "{number} pods are evicted.", found["evicted"])
    told = [evicted.format(number=found["evicted"])]
    if found["daemon"]:
        stays = ngettext(
            "{number} pod of a DaemonSet stays.",
            "{number} pods of DaemonSets stay.",
            found["daemon"],
        )
        told.append(stays.format(number=found["daemon"]))
    if found["budgets"]:
        each_words = gettext("{name} (allows {allowed} of {pods})")
        words = gettext("These disruption budgets count: {list}.")
        told.append(words.format(list=listed(each_words.format(**one) for one in found["budgets"])))
    return sentences(*told)


_DRAIN: Final = replace(
    of_verb(
        "drain",
        gettext_lazy("Drain"),
        {"verb": "cordon"},
        {"verb": "evict_pods"},
        question=gettext_lazy(
            "Each node is cordoned, and its pods are evicted. A disruption budget may refuse some."
        ),
    ),
    preview=drain_words,
)
NODE_ACTIONS: Final = (
    of_verb("cordon", gettext_lazy("Cordon")),
    of_verb("uncordon", gettext_lazy("Uncordon")),
    _DRAIN,
    ListAction("taint", gettext_lazy("Taint"), tainted, form=TaintForm),
    ListAction("mark_not_ready", gettext_lazy("Mark NotReady"), marked_not_ready),
    ListAction("mark_ready", gettext_lazy("Mark Ready"), marked_ready),
    DELETE,
)
