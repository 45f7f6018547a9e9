"""`kubectl kscope …`: the program as a plugin of kubectl, which asks about its current context.

kubectl finds the executable kubectl-kscope on the path. Whoever types kubectl means its cluster: where
neither files nor --context are named, the current context is taken.
Upstream: kubectl pkg/cmd/plugin.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kscope.program.grammar import COMMANDS, FLAGS
from kscope.program.main import main as answer
from kscope.program.speech.errors import ProgramError

# They need a cluster, or files in its place.
_ASK: Final = ("triage", "why", "collect", "follow")
_NAMED: Final = ("--context", "--filename", "-f", "--help", "-h")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status of one call of `kubectl kscope`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return answer(with_context(given))


def with_context(words: list[str]) -> list[str]:
    """*words* with the current context of kubectl, where no cluster is named."""
    flags = {each.partition("=")[0] for each in words if each.startswith("-")}
    plain = _plain(words)
    command = plain[0] if plain else ""
    if command not in _ASK or flags & set(_NAMED) or _names_files(command, plain[1:]):
        return words
    current = _current(words)
    return [*words, "--context", current] if current else words


def _plain(words: Sequence[str]) -> list[str]:
    """The words that are neither flags nor their values."""
    takes = {name for flag in FLAGS.values() if flag.value for name in flag.names}
    found: list[str] = []
    is_value = False
    for word in words:
        if (word == "-" or not word.startswith("-")) and not is_value:
            found.append(word)
        is_value = word in takes
    return found


def _names_files(command: str, words: Sequence[str]) -> bool:
    reads = "files" in COMMANDS[command].operands and command != "collect"
    return reads and any(word == "-" or Path(word).exists() for word in words)


def _current(words: Sequence[str]) -> str:
    from kscope.program.live.kubeconfig import current_context

    given = next(
        (value for flag, value in zip(words, words[1:], strict=False) if flag == "--kubeconfig"),
        None,
    )
    try:
        return current_context(given)
    except ProgramError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
