"""How a watch ends that can no longer be answered otherwise, because its answer has begun.

Upstream: apiserver/pkg/storage/etcd3/watcher.go, sendError(); such an event is the last one.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from kube.server.handover import Handover
from kube.server.watches.watching import line_of


async def ended_by_errors(
    texts: AsyncGenerator[bytes, None], handover: Handover
) -> AsyncIterator[bytes]:
    """*texts*, the events of a watch; whatever goes wrong is an event, with a Status, and the last."""
    async with aclosing(texts):
        try:
            async for text in texts:
                yield text
        except Exception as problem:  # noqa: BLE001  # it is logged, and the client is told
            yield line_of("ERROR", handover.refusal(problem).body)
