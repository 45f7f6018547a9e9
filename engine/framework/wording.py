"""The reasons of an older version for the same refusals: v1.20 compared with v1.34.

Upstream: the ErrReason constants of pkg/scheduler/framework/plugins at release-1.20.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engine.framework.framework import Status


@dataclass(frozen=True, slots=True)
class Wording:
    """Reasons that differ: fixed ones by text, those that contain names by pattern."""

    reasons: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    patterns: tuple[tuple[re.Pattern[str], str], ...] = ()

    def of(self, status: Status) -> Status:
        """*status* with the reasons of this version."""
        reasons = tuple(said for reason in status.reasons for said in self._say(reason))
        return status if reasons == status.reasons else replace(status, reasons=reasons)

    def _say(self, reason: str) -> tuple[str, ...]:
        said = self.reasons.get(reason)
        if said is not None:
            return said
        for pattern, template in self.patterns:
            found = pattern.fullmatch(reason)
            if found is not None:
                return (found.expand(template),)
        return (reason,)


_AFFINITY = "node(s) didn't match pod affinity/anti-affinity"

WORDING_1_20: Final = Wording(
    {
        "node(s) didn't match Pod's node affinity/selector": (
            "node(s) didn't match Pod's node affinity",
        ),
        "node(s) didn't match PersistentVolume's node affinity": (
            "node(s) had volume node affinity conflict",
        ),
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": (
            "pvc(s) bound to non-existent pv(s)",
        ),
        "node(s) didn't match pod affinity rules": (
            _AFFINITY,
            "node(s) didn't match pod affinity rules",
        ),
        "node(s) didn't match pod anti-affinity rules": (
            _AFFINITY,
            "node(s) didn't match pod anti-affinity rules",
        ),
        "node(s) didn't satisfy existing pods anti-affinity rules": (
            _AFFINITY,
            "node(s) didn't satisfy existing pods anti-affinity rules",
        ),
    },
    (
        (
            re.compile(r"node\(s\) had untolerated taint (\{.*\})"),
            r"node(s) had taint \1, that the pod didn't tolerate",
        ),
    ),
)
