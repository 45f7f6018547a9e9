"""JSON patches of clients."""

from typing import Any

from engine.objects.values import json_patch
from engine.objects.values.json_patch import PatchError
from kube.status import ApiError


def json_patched(target: Any, operations: Any) -> Any:
    """*target* after all operations. Raises ApiError when one of them does not apply."""
    try:
        return json_patch.json_patched(target, operations)
    except PatchError as error:
        why = f"the server rejected our request due to an error in our request: {error}"
        raise ApiError(422, "Invalid", why) from None
