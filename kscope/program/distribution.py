"""The name of the distribution on the package index; docs/command-line.md says why it is not kscope."""

from typing import Final

NAME: Final = "kscope-sim"
