"""`kscope --version`: which kscope this is, and which versions of Kubernetes it knows."""

from __future__ import annotations

from kscope.program.grammar import PROFILES
from kscope.program.places import ROOM


def version_text() -> str:
    """The version and the profiles, a line each."""
    return f"kscope {version()}\nprofiles {', '.join(PROFILES)}\n"


def version() -> str:
    """Of the installed distribution, else of the checkout."""
    import tomllib

    project = ROOM / "pyproject.toml"
    if project.is_file():
        return str(tomllib.loads(project.read_text())["project"]["version"])
    from importlib.metadata import version as installed

    from kscope.program.distribution import NAME

    return installed(NAME)
