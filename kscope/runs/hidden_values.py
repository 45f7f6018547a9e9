"""Values of manifests that may be secrets: only who may change a run is shown them.

The data of Secrets, the values of environment variables, commands and arguments are in no history
(`engine/input/cleaning.py`); the former may be sealed beside a run (ADR 0054). The following values
are stored, because a run gives the objects back as they were brought. They decide nothing in a run,
and people put passwords and keys into them:

| field | whose |
|---|---|
| `csi.volumeAttributes`, `flexVolume.options` | volumes, also those in pods and templates |
| `status.attachmentMetadata` | VolumeAttachments: what the driver tells the node |
| `parameters.restuserkey` | StorageClasses of GlusterFS |
| the values of `data` and `binaryData` | ConfigMaps |

Names of Secrets (`nodePublishSecretRef`, `imagePullSecrets`) are names, and stay.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from engine.input.cleaning import LAST_APPLIED

HIDDEN: Final = frozenset(("volumeAttributes", "attachmentMetadata", "restuserkey"))
HIDDEN_IN: Final = {"flexVolume": "options"}
_CONFIG_MAP: Final = "ConfigMap"
CONFIG_FIELDS: Final = ("data", "binaryData")


def without_hidden(value: Any) -> Any:
    """*value*, a manifest or any JSON with manifests in it, without such values.

    Where there are none, it is the same object.
    """
    if isinstance(value, list):
        items = cast("list[Any]", value)
        kept = [without_hidden(each) for each in items]
        return kept if any(a is not b for a, b in zip(kept, items, strict=True)) else items
    if not isinstance(value, dict):
        return value
    parts = cast("dict[str, Any]", value)
    changed = {name: new for name, part in parts.items() if (new := _kept(name, part)) is not part}
    if parts.get("kind") == _CONFIG_MAP:
        changed |= {name: _emptied(parts[name]) for name in CONFIG_FIELDS if name in parts}
    hidden = HIDDEN & parts.keys()
    if not changed and not hidden:
        return parts
    return {name: part for name, part in (parts | changed).items() if name not in hidden}


def command_without_hidden(body: Mapping[str, Any]) -> Any:
    """The body of a command without such values; a patch does not say of what kind it is."""
    kept = dict(without_hidden(dict(body)))
    kind = str(body.get("object") or "").partition("/")[0]
    patch = kept.get("patch")
    if kind.lower() == _CONFIG_MAP.lower() and isinstance(patch, dict):
        emptied = without_hidden({**cast("dict[str, Any]", patch), "kind": _CONFIG_MAP})
        kept["patch"] = {name: part for name, part in emptied.items() if name in patch}
    return kept


def reads_values(operations: Any) -> bool:
    """Whether a JSON patch shows, or tells by its failure, what stands elsewhere in the object."""
    given = cast("list[Any]", operations) if isinstance(operations, list) else []
    return any(isinstance(one, dict) and one.get("op") in ("copy", "move", "test") for one in given)


def _kept(name: str, part: Any) -> Any:
    if name == LAST_APPLIED and isinstance(part, str):
        return _copy_without_hidden(part)
    if name in HIDDEN_IN and isinstance(part, dict) and HIDDEN_IN[name] in part:
        left_out = HIDDEN_IN[name]
        return {key: each for key, each in cast("dict[str, Any]", part).items() if key != left_out}
    return without_hidden(part) if isinstance(part, dict | list) else part


def _copy_without_hidden(text: str) -> str:
    """The copy of a manifest that `kubectl apply` leaves in an annotation."""
    try:
        copy = json.loads(text)
    except (ValueError, RecursionError):
        return ""  # Whatever it is, nobody can say what is in it.
    kept = without_hidden(copy)
    return text if kept is copy else json.dumps(kept, separators=(",", ":")) + "\n"


def _emptied(part: Any) -> Any:
    return dict.fromkeys(cast("dict[str, Any]", part), "") if isinstance(part, dict) else ""
