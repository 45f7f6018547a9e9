"""Which kscope wrote a file."""

from __future__ import annotations

from pathlib import Path

# The checkout, or what a wheel has installed below the package kscope.
_ROOM = Path(__file__).resolve().parents[2]


def version(distribution: str = "kscope-sim") -> str:
    """Of the installed *distribution*, else of the checkout."""
    import tomllib

    project = _ROOM / "pyproject.toml"
    if project.is_file():
        return str(tomllib.loads(project.read_text())["project"]["version"])
    from importlib.metadata import version as installed

    return installed(distribution)
