"""Why conformance specs do not pass, in a sentence for each kind of them."""

import re
from typing import Final

from tests.kube.upstream.suite import Spec

UNKNOWN: Final = "not explained yet"
# Patterns of the files or names of specs, and why those do not pass; the first that is found counts.
_REASONS: Final = (
    (r"Aggregator", "a run calls no other API server: it would be a process in a pod."),
    (
        r"conversion_webhook|crd_selectable_fields",
        "a run calls no webhook that converts objects between versions.",
    ),
)
# The same of specs that pass, and of which nothing is kept that could be played.
_UNHELD: Final = (
    (
        r"support continue listing from the last key",
        "its token expires after five minutes of the clock of the wall, for which a recording that is "
        "played does not wait.",
    ),
    (
        r"ResourceQuota should apply changes to a resourcequota status",
        "its writes race with the controller of quotas, a tenth of a second apart: who comes first "
        "is seen in the answers.",
    ),
)


def unheld_reason(name: str) -> str:
    """Why nothing is kept of the spec with that name, which passes."""
    return next((reason for pattern, reason in _UNHELD if re.search(pattern, name)), UNKNOWN)


def reason_for(spec: Spec) -> str:
    """Why *spec* does not pass."""
    for pattern, reason in _REASONS:
        if re.search(pattern, f"{spec.file} {spec.name}"):
            return reason
    return UNKNOWN
