"""The protocol of a plugin that proposes changes after which the pod would fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol, get_args, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.explaining.refusals import Refusals
from engine.kernel.sentences import NOTHING, Sentence, say, together
from engine.objects.objects import ApiObject, Manifest, Pod

# What a change is about. A diagnosis tries changes that lift a restriction first, then those of a
# rule, then those that ask for less, then all others ("plugin").
Kind = Literal[
    "gate",
    "label",
    "toleration",
    "taint",
    "selector",
    "spread",
    "namespaces",
    "affinity",
    "device",
    "requests",
    "plugin",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of an object that is worth trying: a merge patch of it.

    With `fields` instead, which are whole fields of a pod's spec, the pod is deleted and created anew
    with them: the API server permits no change of them.

    `text` says what to do, as an imperative without a full stop; `note` says in full sentences what
    it costs and what it may break. Raises ValueError for a `kind` that a diagnosis does not try.
    """

    text: Sentence
    object: ApiObject
    patch: Manifest = field(default_factory=dict[str, Any])
    fields: Manifest | None = None
    note: Sentence = NOTHING
    kind: Kind = "plugin"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind of a change is {self.kind!r}; it may be {', '.join(KINDS)}")


@runtime_checkable
class Proposes(Protocol, metaclass=AskedOnce):
    """Proposes changes. A diagnosis tries each of them, and offers what helps."""

    name: ClassVar[str]

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """Changes that may undo what this plugin refuses, the best of each kind first."""
        ...


def pod_made_anew(
    pod: Pod, fields: Mapping[str, Any], *, kind: Kind, text: Sentence, breaks: Sentence = NOTHING
) -> Proposal:
    """The pod deleted and created anew with other *fields*; *breaks* says what that may break."""
    note = template_note(pod, anew=True, breaks=breaks)
    return Proposal(kind=kind, text=text, object=pod, fields=dict(fields), note=note)


def template_note(pod: Pod, *, anew: bool = False, breaks: Sentence = NOTHING) -> Sentence:
    """What a change of this pod costs: it is created *anew*, *breaks* something, has a template."""
    made_anew = say("The pod is deleted and created anew.") if anew else NOTHING
    owner = next((each for each in pod.owner_references if each.get("controller")), None)
    if owner is None:
        return together(made_anew, breaks)
    kind, name = str(owner.get("kind")), str(owner.get("name"))
    text = say(
        "The template of {kind} {name} stays as it is: change it there for good.",
        kind=kind,
        name=name,
    )
    return together(made_anew, breaks, text)
