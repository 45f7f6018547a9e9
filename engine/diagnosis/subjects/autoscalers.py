"""Why an autoscaler does not scale its target, or not as far as its metrics ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from engine.diagnosis.report import Cause, Severity
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.fact import fact
from engine.kernel.sentences import NOTHING, Argument, Phrase, Sentence, phrase, say
from engine.objects.autoscalers import REPLICAS_ANNOTATION, bounds, target_of
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject

_CONTROLLER: Final = "horizontal-pod-autoscaler"
_AMBIGUOUS: Final = "AmbiguousSelector"
_DISABLED: Final = "ScalingDisabled"
TOO_MANY: Final = "TooManyReplicas"
_ANNOTATED: Final = say(
    "No pod of a run uses CPU: the annotation {annotation} says what the metrics ask for.",
    annotation=REPLICAS_ANNOTATION,
)


class _Meaning(NamedTuple):
    """What a condition means for the target."""

    status: str
    severity: Severity
    said: Phrase
    # What is filled in besides the autoscaler and its target.
    places: tuple[str, ...] = ()
    why: Sentence = NOTHING


_TELLS: Final = ("message",)
_CANNOT: Final = phrase("{name} cannot scale {target}: {message}.")
_WITHOUT: Final = phrase(
    "{name} has no metrics to go by: it only keeps {target} between {low} and {high} replicas."
)
_FASTER: Final = phrase("{name} changes {target} step by step: {message}.")
# By the type and the reason of a condition; "" for all others of the type.
_MEANINGS: Final = {
    ("AbleToScale", "ScaleDownStabilized"): _Meaning("True", "delays", _FASTER, _TELLS),
    ("AbleToScale", "ScaleUpStabilized"): _Meaning("True", "delays", _FASTER, _TELLS),
    ("AbleToScale", "BackoffBoth"): _Meaning("False", "delays", _FASTER, _TELLS),
    ("AbleToScale", "BackoffDownscale"): _Meaning("False", "delays", _FASTER, _TELLS),
    ("AbleToScale", "BackoffUpscale"): _Meaning("False", "delays", _FASTER, _TELLS),
    ("AbleToScale", ""): _Meaning("False", "blocks", _CANNOT, _TELLS),
    ("ScalingActive", _AMBIGUOUS): _Meaning("False", "blocks", _CANNOT, _TELLS),
    ("ScalingActive", _DISABLED): _Meaning(
        "False", "blocks", phrase("{name} does nothing while {target} shall have no replicas.")
    ),
    ("ScalingActive", ""): _Meaning("False", "blocks", _WITHOUT, ("low", "high"), _ANNOTATED),
    ("ScalingLimited", TOO_MANY): _Meaning(
        "True",
        "narrows",
        phrase("{name} is at its maximum: {target} has {high} replicas, and more are asked for."),
        ("high",),
    ),
    ("ScalingLimited", "TooFewReplicas"): _Meaning(
        "True",
        "notes",
        phrase("{name} is at its minimum: {target} has {low} replicas, and fewer are asked for."),
        ("low",),
    ),
    ("ScalingLimited", ""): _Meaning("True", "delays", _FASTER, _TELLS),
}


def autoscaler_causes(scene: Scene, autoscaler: ApiObject) -> Iterator[Cause]:
    """What keeps *autoscaler* from giving its target the replicas that are asked for."""
    conditions = items(autoscaler.status, "conditions")
    if not conditions:
        text = say("{name} has not been looked at yet.", name=_name(autoscaler))
        yield cause(_CONTROLLER, text, [fact(autoscaler, ("status",), text)], severity="delays")
    is_active = all(
        one.get("status") == "True" for one in conditions if one.get("type") == "ScalingActive"
    )
    for place, one in enumerate(conditions):
        kind = str(one.get("type"))
        if kind == "ScalingLimited" and not is_active:
            # It is of an earlier look.
            continue
        meaning = _MEANINGS.get((kind, str(one.get("reason")))) or _MEANINGS.get((kind, ""))
        if meaning is not None and one.get("status") == meaning.status:
            yield _cause(scene, autoscaler, place, meaning)


def _name(autoscaler: ApiObject) -> str:
    return f"HorizontalPodAutoscaler {autoscaler.key}"


def _cause(scene: Scene, autoscaler: ApiObject, place: int, meaning: _Meaning) -> Cause:
    one = autoscaler.status["conditions"][place]
    low, high = bounds(autoscaler)
    message = str(one.get("message") or "").rstrip(".")
    known: dict[str, Argument] = {"message": message, "low": low, "high": high}
    told = {name: known[name] for name in meaning.places}
    text = meaning.said.say(name=_name(autoscaler), target=target_of(autoscaler), **told)
    because = [fact(autoscaler, ("status", "conditions", place), text)]
    if one.get("reason") == TOO_MANY:
        limit = say("Its maxReplicas is {high}.", high=high)
        because.append(fact(autoscaler, ("spec", "maxReplicas"), limit))
    event = scene.event(autoscaler, str(one.get("reason")))
    severity = meaning.severity
    return cause(_CONTROLLER, text, because, why=meaning.why, severity=severity, event=event)


def at_maximum(autoscaler: ApiObject) -> bool:
    """Whether more replicas are asked for than there may be."""
    return any(
        one.get("type") == "ScalingLimited"
        and one.get("status") == "True"
        and one.get("reason") == TOO_MANY
        for one in items(autoscaler.status, "conditions")
    )
