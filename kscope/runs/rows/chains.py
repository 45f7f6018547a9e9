"""The rows of the page Volumes: a chain for each claim, and one for every other volume.

As static/js/model/volumes/chains.js joins claims and volumes; a test holds the two together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from engine.kernel.view import Attributes
from kscope.runs.rows.table import Row, natural

# How a claim and its volume are joined; the order is that of a list by state.
CHAIN_STATES = ("broken", "unbound", "bound")
BOUND, UNBOUND, BROKEN = "bound", "unbound", "broken"
_CLAIM, _VOLUME = "claim/", "volume/"
_LET_GO = ("Released", "Failed")


def chains_of(state: Mapping[str, Attributes]) -> list[Row]:
    """All chains of a state."""
    holders = _holders(state)
    rows: list[Row] = []
    taken: set[str] = set()
    for entity, shown in state.items():
        if entity.startswith(_CLAIM):
            row, volume = _claim_row(entity, shown, holders.get(entity[len(_CLAIM) :], []), state)
            rows.append(row)
            taken.add(volume)
    for entity, shown in state.items():
        if entity.startswith(_VOLUME) and entity not in taken:
            rows.append(_volume_row(entity, shown))
    return rows


def _holders(state: Mapping[str, Attributes]) -> Mapping[str, list[str]]:
    """The names of the volumes whose claimRef names a claim, by the key of the claim."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entity, shown in state.items():
        if entity.startswith(_VOLUME) and shown.get("phase") not in _LET_GO and shown.get("claim"):
            found[shown["claim"]].append(entity[len(_VOLUME) :])
    return found


def _claim_row(
    entity: str, claim: Attributes, holders: list[str], state: Mapping[str, Attributes]
) -> tuple[Row, str]:
    """The chain of a claim, and the id of its volume, "" where that does not exist."""
    named = claim.get("volume") or ""
    holder = named if named in holders else min(holders, key=natural, default="")
    name = named or holder
    volume = state.get(f"{_VOLUME}{name}") if name else None
    kind = _kind(claim, holder, volume)
    class_name = claim.get("class") or (volume or {}).get("class") or ""
    ghost = name or claim.get("selected_node") or ""
    key = entity[len(_CLAIM) :]
    row = _row(entity, (key, name, class_name, ghost), kind, (class_name, 0, key, name))
    return row, f"{_VOLUME}{name}" if volume is not None else ""


def _kind(claim: Attributes, holder: str, volume: Attributes | None) -> str:
    named = claim.get("volume")
    if claim.get("phase") == "Lost":
        return BROKEN
    if named and holder == named and claim.get("phase") == "Bound":
        return BROKEN if volume is None else BOUND
    if (named or holder) and volume is None and claim.get("completed"):
        return BROKEN
    return UNBOUND


def _volume_row(entity: str, volume: Attributes) -> Row:
    name, claim = entity[len(_VOLUME) :], volume.get("claim") or ""
    ended = (*_LET_GO, "Bound") if claim else ("Failed",)
    kind = BROKEN if volume.get("phase") in ended else UNBOUND
    class_name = volume.get("class") or ""
    return _row(entity, (name, class_name, claim), kind, (class_name, 1, claim, name))


def _row(entity: str, words: Iterable[str], kind: str, place: tuple[str, int, str, str]) -> Row:
    class_name, rank, claim, volume = place
    name = natural(entity.partition("/")[2])
    by_class = class_name == "", natural(class_name), rank
    values = by_class, (claim == "", natural(claim)), (volume == "", natural(volume))
    return Row(entity, "\n".join(words).lower(), name, kind, values)


def touches_chains(entity: str) -> bool:
    """Whether a change of this object may change a chain."""
    return entity.startswith((_CLAIM, _VOLUME))
