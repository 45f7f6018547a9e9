"""Places in what a script answers: "${metadata.name}" stands for the name of the pod.

| place | stands for |
|---|---|
| a field path | what the downward API gives for it, also where it is for environment variables alone |
| `limits.RESOURCE`, `requests.RESOURCE` | what it gives for that of the container |
| `file.content:PATH`, `file.mode:PATH` | a file that is mounted there |

What is no place stays as it is, as Kubernetes leaves "$(NAME)" for a name that it does not know.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from engine.kernel.sentences import Sentence, enumerated, say
from engine.objects.values.shown import shown

FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_SUBSCRIPTED: Final = ("metadata.annotations", "metadata.labels")
CONTENT: Final = "file.content"
MODE: Final = "file.mode"
# What a place begins with: other texts in braces belong to whoever wrote them, such as "${HOME}".
_OURS: Final = ("metadata.", "spec.", "status.", "limits.", "requests.", "file.")
_PLACE: Final = re.compile(r"\$\{([^{}\n]*)\}")
_SUBSCRIPT: Final = re.compile(r"([^\[\]]+)\['(.*)'\]")


class Place(NamedTuple):
    """A place: what it stands for, and of which key, resource or path; "" for none."""

    what: str
    of: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it stands for something of a file."""
        return self.what in (CONTENT, MODE)


def place_of(name: str) -> Place | None:
    """The place that is called *name*; None for no place."""
    if name in FIELDS:
        return Place(name)
    if (found := _SUBSCRIPT.fullmatch(name)) and found[1] in _SUBSCRIPTED:
        return Place(found[1], found[2])
    what, colon, path = name.partition(":")
    if colon and what in (CONTENT, MODE) and path.startswith("/"):
        return Place(what, path)
    amounts, _, resource = name.partition(".")
    return Place(amounts, resource) if amounts in ("limits", "requests") and resource else None


def places_in(text: str) -> list[Place]:
    """The places of a text, in order."""
    found = map(place_of, _PLACE.findall(text))
    return [one for one in found if one is not None]


def filled(text: str, value: Callable[[Place], str]) -> str:
    """The text with the *value* of each place in it."""

    def one(found: re.Match[str]) -> str:
        place = place_of(found[1])
        return found[0] if place is None else value(place)

    return _PLACE.sub(one, text) if "${" in text else text


def fault_in(text: str) -> Sentence | None:
    """What is wrong with the first place that means to be one and is none."""
    for name in _PLACE.findall(text):
        if name.startswith(_OURS) and place_of(name) is None:
            known = [*FIELDS, "limits.cpu", "requests.cpu", "file.content:/PATH", "file.mode:/PATH"]
            return say(
                "{found} stands for nothing; known are {list}",
                found=shown(name),
                list=enumerated(known),
            )
    return None
