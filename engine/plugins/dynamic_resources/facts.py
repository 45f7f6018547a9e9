"""Devices: why those of a refused node cannot be used, and which claims have the allocated ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from engine.framework.explaining.case import FEW, Case, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import Sentence, count_phrase, say, say_count
from engine.objects.device_taint_rules import DEVICE_TAINT_RULE, rules_for
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject
from engine.objects.pods.resource_claims import pod_claims
from engine.plugins.dynamic_resources.allocation.devices import Slice
from engine.plugins.dynamic_resources.allocation.selectors import failing_parts

_CLAIM, _SLICE = "ResourceClaim", "ResourceSlice"
_WORD = re.compile(r"\w+")
# What is said of the devices of each kind.
_COUNTED = {
    "class": count_phrase("{count} of another class", "{count} of another class"),
    "selector": count_phrase(
        "{count} not selected by the claim", "{count} not selected by the claim"
    ),
    "allocated": count_phrase(
        "{count} allocated to other claims", "{count} allocated to other claims"
    ),
    "taint": count_phrase("{count} tainted", "{count} tainted"),
    "capacity": count_phrase("{count} without enough capacity", "{count} without enough capacity"),
    "none": count_phrase("{count} free, but too few", "{count} free, but too few"),
}
Entry = Mapping[str, Any]


def explain_devices(case: Case) -> Explanation:
    """The devices of the refused nodes, with the selector, the taint or the claim in the way."""
    entries = [entry for _, detail in case.few() for entry in _entries(detail.numbers)]
    if not entries:
        return _allocated_elsewhere(case)
    request = str(entries[0]["request"])
    of_request = [entry for entry in entries if entry["request"] == request]
    return Explanation(
        sentence=_sentence(request, of_request),
        because=tuple(_facts(case, of_request)),
    )


def _allocated_elsewhere(case: Case) -> Explanation:
    """The claims that are allocated to devices which the refused nodes do not reach."""
    named = (_claim_of(case, each.claim) for each in pod_claims(case.pod) if each.claim)
    held = [claim for claim in named if claim and section(claim.status, "allocation")]
    if not held:
        return Explanation(sentence=say("No device can be reached from any node."))
    names = listed([claim.key for claim in held])
    return Explanation(
        sentence=(
            say(
                "Claim {names} is allocated, and its devices cannot be reached from here.",
                names=names,
            )
            if len(held) == 1
            else say(
                "Claims {names} are allocated, and their devices cannot be reached from here.",
                names=names,
            )
        ),
        because=tuple(
            fact(
                claim,
                ("status", "allocation", "nodeSelector"),
                say(
                    "The devices that claim {claim} has can only be reached from certain nodes.",
                    claim=claim.key,
                ),
            )
            for claim in held
        ),
    )


def _claim_of(case: Case, name: str) -> ApiObject | None:
    return case.world.listers.get(_CLAIM, f"{case.pod.namespace}/{name}")


def _entries(numbers: Mapping[str, Any]) -> Sequence[Entry]:
    return cast("Sequence[Entry]", numbers.get("devices") or ())


def _sentence(request: str, entries: Sequence[Entry]) -> Sentence:
    counts = [
        text.say(number)
        for kind, text in _COUNTED.items()
        if (number := sum(entry["kind"] == kind for entry in entries))
    ]
    return say_count(
        "Of {count} device, none serves request {request}: {counts}.",
        "Of {count} devices, none serves request {request}: {counts}.",
        len(entries),
        request=request,
        counts=listed(counts),
    )


def _facts(case: Case, entries: Sequence[Entry]) -> Iterator[Fact]:
    """The claim's request first, then the devices one by one."""
    listers = case.world.listers
    claim = listers.get(_CLAIM, str(entries[0]["claim"]))
    expressions: dict[int, str] = {}
    if claim is not None:
        for path, expression in _expressions(claim, str(entries[0]["request"])):
            expressions[len(expressions)] = expression
            yield fact(
                claim,
                path,
                say("The claim selects devices by {expression}.", expression=expression),
            )
    for entry in entries[: 2 * FEW]:
        found = listers.get(_SLICE, str(entry["slice"]))
        if found is not None:
            yield from _device_facts(case, found, entry, expressions)


def _part_facts(
    found: ApiObject, path: tuple[str | int, ...], name: str, device: Entry, part: str
) -> Iterator[Fact]:
    """The attributes and capacities of a device that a condition is about."""
    words = frozenset(_WORD.findall(part))
    mentioned = [
        (kind, attribute, value)
        for kind in ("attributes", "capacity")
        for attribute, value in section(device, kind).items()
        if attribute.rpartition("/")[2] in words
    ]
    for kind, attribute, value in mentioned:
        shown = next(iter(value.values()), "nothing")
        text = say(
            "{name} has {attribute} {shown}, and the claim selects by {part}.",
            name=name,
            attribute=attribute,
            shown=shown,
            part=part,
        )
        yield fact(found, (*path, kind, attribute), text, compared_with=part)
    if not mentioned:
        yield fact(
            found,
            path,
            say("{name} lacks what the claim selects by: {part}.", name=name, part=part),
        )


def _expressions(claim: ApiObject, request: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    name, _, alternative = request.partition("/")
    requests: Sequence[Entry] = section(claim.spec, "devices").get("requests") or ()
    for place, one in enumerate(requests):
        if one.get("name") != name:
            continue
        path: tuple[str | int, ...] = ("spec", "devices", "requests", place)
        fields: Entry = one.get("exactly") or one
        several: Sequence[Entry] = one.get("firstAvailable") or ()
        if one.get("exactly"):
            path = (*path, "exactly")
        for number, each in enumerate(several):
            if each.get("name") == alternative:
                path, fields = (*path, "firstAvailable", number), each
        for number, each in enumerate(fields.get("selectors") or ()):
            expression = str(section(each, "cel").get("expression") or "")
            yield (*path, "selectors", number, "cel", "expression"), expression


def _device_facts(
    case: Case, found: ApiObject, entry: Entry, expressions: Mapping[int, str]
) -> Iterator[Fact]:
    devices: Sequence[Entry] = found.spec.get("devices") or ()
    place = next(
        (number for number, one in enumerate(devices) if one.get("name") == entry["device"]), None
    )
    if place is None:
        return
    path: tuple[str | int, ...] = ("spec", "devices", place)
    name = say("Device {device} of {found}", device=entry["device"], found=found.name)
    if entry["kind"] == "taint":
        yield _taint_fact(case, found, (*path, "taints"), int(entry["place"]), name)
    elif entry["kind"] == "selector":
        device = Slice.parse(found).devices[place]
        for part in failing_parts(expressions.get(int(entry["place"]), "true"), device):
            yield from _part_facts(found, path, name, devices[place], part)
    elif entry["kind"] == "allocated":
        holder = next(
            (
                claim
                for claim in case.world.listers.all(_CLAIM)
                if f"claim {claim.key}" in str(entry["text"])
            ),
            None,
        )
        if holder is not None:
            users = [str(one.get("name")) for one in holder.status.get("reservedFor") or ()]
            text = say("{device} is allocated to claim {claim}.", device=name, claim=holder.name)
            if users:
                text = say_count(
                    "{device} is allocated to claim {claim}, which {users} uses.",
                    "{device} is allocated to claim {claim}, which {users} use.",
                    len(users),
                    device=name,
                    claim=holder.name,
                    users=listed(users),
                )
            yield fact(holder, ("status", "allocation"), text)
    else:
        yield fact(found, path, say("{device}: {text}.", device=name, text=entry["text"]))


def _taint_fact(
    case: Case, found: ApiObject, path: tuple[str | int, ...], place: int, name: Sentence
) -> Fact:
    """The taint of that *place*: those of rules come after those of the device's driver."""
    device = Slice.parse(found).devices[int(path[2])]
    own = len(device.taints)
    if place < own:
        text = say("{name} has a taint that the claim does not tolerate.", name=name)
        return fact(found, (*path, place), text)
    rule = rules_for(case.world.listers.all(DEVICE_TAINT_RULE), *device.id)[place - own]
    text = say(
        "{name} has a taint of DeviceTaintRule {rule} that the claim does not tolerate.",
        name=name,
        rule=rule.name,
    )
    return fact(rule, ("spec", "taint"), text)
