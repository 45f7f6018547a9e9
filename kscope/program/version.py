"""`kscope --version`: which kscope this is, and which versions of Kubernetes it knows."""

from __future__ import annotations

from kscope.exports.version import version as version_of
from kscope.program.distribution import NAME
from kscope.program.grammar import PROFILES


def version_text() -> str:
    """The version and the profiles, a line each."""
    return f"kscope {version()}\nprofiles {', '.join(PROFILES)}\n"


def version() -> str:
    """Of the installed distribution, else of the checkout."""
    return version_of(NAME)
