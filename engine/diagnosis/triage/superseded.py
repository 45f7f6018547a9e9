"""The mark of a cause whose objects have gone on since the run was played, as pages have it.

What counts as going on is what pages call well: `static/js/model/run/health_of.js`. The view state
has all that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.kernel.units import MILLISECOND, SECOND
from engine.kernel.view import Attributes, State
from engine.objects.manifest_parts import section

_PARTS: Final = (("pods", "pod"), ("claims", "claim"), ("nodes", "node"))
_PRESSURES: Final = tuple(
    f"node.kubernetes.io/{name}"
    for name in ("memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
)
_ENDED: Final = ("Succeeded", "Failed")
# How long, in ns, an unneeded volume may wait for its unmount before pages mention it.
_PATIENCE: Final = 10 * SECOND


def superseded(group: Mapping[str, Any], state: State, at: int) -> dict[str, Any] | None:
    """What has become of the objects of a *group* of a triage by *at*, when the view is *state*.

    {at, text, pods: {of, go_on, gone}, …}; None where each stands as the files say.
    """
    if at <= 0:
        return None
    counts = {
        name: counted
        for name, kind in _PARTS
        if (counted := _counted([f"{kind}/{key}" for key in group[name]], state, at))
    }
    told = [_told(kind, counts[name]) for name, kind in _PARTS if name in counts]
    if not told:
        return None
    text = f"superseded in this run at {_duration(at)}: {'; '.join(told)}"
    return {"at": at, "text": text, **counts}


def _counted(ids: list[str], state: State, at: int) -> dict[str, int] | None:
    gone = sum(each not in state for each in ids)
    well = sum(_is_well(each, state, at) for each in ids if each in state)
    return {"of": len(ids), "go_on": well, "gone": gone} if gone or well else None


def _told(kind: str, counts: Mapping[str, int]) -> str:
    several = f"{counts['of']:,} {kind}{'' if counts['of'] == 1 else 's'}"
    parts: list[str] = []
    if well := counts["go_on"]:
        parts.append(f"{well:,} of {several} {'goes' if well == 1 else 'go'} on")
    if gone := counts["gone"]:
        parts.append(f"{gone:,} of {several} {'is' if gone == 1 else 'are'} gone")
    return ", ".join(parts)


def _is_well(entity: str, state: State, at: int) -> bool:
    shown = state[entity]
    if "deleting" in shown:
        return False
    if entity.startswith("pod/"):
        return _is_pod_well(shown, state)
    if entity.startswith("claim/"):
        return _is_claim_well(entity, shown, state)
    return _is_node_well(shown, at)


def _is_pod_well(pod: Attributes, state: State) -> bool:
    if not pod.get("node"):
        return False
    if pod.get("phase") in _ENDED:
        return True
    node = state.get(f"node/{pod['node']}") or {}
    return bool(node.get("ready")) and pod.get("phase") == "Running" and "told" not in pod


def _is_claim_well(entity: str, claim: Attributes, state: State) -> bool:
    name = claim.get("volume")
    volume = state.get(f"volume/{name}")
    if claim.get("phase") != "Bound" or claim.get("trouble") or volume is None:
        return False
    is_held = f"claim/{volume.get('claim')}" == entity
    nodes = (each for key, each in state.items() if key.startswith("node/"))
    return is_held and not any(
        row.get("name") == name and _fails(row) for node in nodes for row in _rows(node)
    )


def _is_node_well(node: Attributes, at: int) -> bool:
    taints = [each.get("key") for each in node.get("taints") or ()]
    if not node.get("ready") or any(key in _PRESSURES for key in taints):
        return False
    mounted, attached = section(node, "volumes"), section(node, "attachments")
    return not (
        any(_fails(row) for row in _rows(node))
        or any(_waits_for_mount(row) for row in mounted.values())
        or any(_waits_for_controller(row, at) for row in attached.values())
    )


def _rows(node: Attributes) -> Iterable[Attributes]:
    yield from section(node, "volumes").values()
    yield from section(node, "attachments").values()


def _fails(row: Attributes) -> bool:
    operations = [*section(row, "operations").values(), section(row, "operation")]
    return any(each.get("failures") for each in operations)


def _waits_for_mount(row: Attributes) -> bool:
    mounts = section(row, "mounts")
    return any(mounts.get(pod) != "mounted" for pod in row.get("desired") or ())


def _waits_for_controller(row: Attributes, at: int) -> bool:
    """Whether pods wait for an attachment, or an attachment that nobody needs for its unmount."""
    if row.get("desired"):
        return not row.get("attached")
    asked = row.get("detach_requested")
    return bool(row.get("mounted_by_node")) and asked is not None and at - asked > _PATIENCE


def _duration(ns: int) -> str:
    """As `duration` of `static/js/model/shared/format.js` writes it."""
    if ns < MILLISECOND:
        return f"{max(1, round(ns / 1_000))} µs"
    if ns < 100 * MILLISECOND:
        return f"{round(ns / MILLISECOND)} ms"
    if ns < 600 * SECOND:
        return f"{ns / SECOND:.2f} s"
    minutes, seconds = divmod(ns // SECOND, 60)
    if minutes < 180:
        return f"{minutes} min {seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
