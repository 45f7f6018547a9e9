"""What takes long for a large body or object, computed in a thread.

The managed fields of an object of 2 MB take two seconds. Meanwhile the event loop serves others, and
no client has more than one such thread. Small work is done at once, because a thread costs more.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from starlette.requests import Request

from kscope.runs.capacity.places import Places
from kscope.runs.capacity.requests_at_once import request_key

LARGE_BYTES = 65_536
LARGE_PARTS = 2_000  # fields and items; a pod has one or two hundred
THREADS = 2
_WAIT_SECONDS = 30.0
Result = TypeVar("Result")

_lines: "WeakKeyDictionary[asyncio.AbstractEventLoop, Places]" = WeakKeyDictionary()


async def computed(
    request: Request, size_of: Any, function: Callable[..., Result], *arguments: Any
) -> Result:
    """What *function* returns; it takes long if *size_of*, a text or a manifest, is large."""
    if not is_large(size_of):
        return function(*arguments)
    line = _lines.setdefault(asyncio.get_running_loop(), Places(THREADS, _WAIT_SECONDS))
    async with line.hold(request_key(request.scope)):
        return await asyncio.to_thread(function, *arguments)


def is_large(value: Any) -> bool:
    """Whether a text has many bytes, or a manifest many parts; or one of several."""
    left, found = LARGE_PARTS, [value]
    while found:
        one = found.pop()
        if isinstance(one, bytes) and len(one) > LARGE_BYTES:
            return True
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        left -= len(parts)
        if left < 0:
            return True
        found.extend(part for part in parts if isinstance(part, dict | list | bytes))
    return False
