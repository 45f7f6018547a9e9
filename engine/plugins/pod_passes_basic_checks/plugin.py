"""Claims that have to exist. Upstream: core/generic_scheduler.go podPassesBasicChecks() (v1.16)."""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.framework import (
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Plugin,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.plugins.classic import ERROR_PLUGIN


class PodPassesBasicChecks(Plugin):
    """Claims have to exist before anything else. Upstream: podPassesBasicChecks()."""

    name: ClassVar[str] = names.POD_PASSES_BASIC_CHECKS
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._listers = handle.listers

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """An error of the attempt when a claim is missing or being deleted."""
        pod = state.pod.pod
        for volume in pod.volumes:
            source = volume.get("persistentVolumeClaim")
            if not source:
                continue
            name = source["claimName"]
            claim = self._listers.claim(f"{pod.namespace}/{name}")
            fault = ""
            if claim is None:
                fault = f'persistentvolumeclaim "{name}" not found'
            elif claim.deletion_timestamp:
                fault = f'persistentvolumeclaim "{name}" is being deleted'
            if fault:
                return PreFilterResult(status=Status(Code.ERROR, (fault,), ERROR_PLUGIN))
        return PRE_FILTER_SKIP
