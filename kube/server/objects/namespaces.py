"""The Namespaces of a run: those that it holds, and those that its objects imply.

A run needs no Namespace objects; clients look for one before they look into it.
"""

from collections.abc import Iterable

from engine.kernel.units import timestamp
from kscope.runs.served.versions import Version

# What every cluster has.
USUAL = ("default", "kube-node-lease", "kube-public", "kube-system")


def with_implied(held: Iterable[Version], names: Iterable[str], ahead: int) -> list[Version]:
    """The Namespaces that are held, and one for each other of *names*, by name.

    When the run began, clocks were *ahead* of EPOCH, in nanoseconds.
    """
    began = timestamp(ahead)
    found = {one.manifest["metadata"]["name"]: one for one in held}
    for name in (*USUAL, *names):
        if name and name not in found:
            # There since the run began, which is before its first event.
            metadata = {"name": name, "uid": f"namespace-{name}", "creationTimestamp": began}
            found[name] = Version(1, {"metadata": metadata})
    return [found[name] for name in sorted(found)]
