"""`kscope collect`: what triage reads of a cluster, as one tar.gz, with Secrets by name only."""

from __future__ import annotations

import io
import tarfile
from calendar import timegm
from collections.abc import Iterable
from pathlib import Path
from time import strptime
from typing import BinaryIO

from kscope.program.grammar import Request
from kscope.program.live.files import files_of
from kscope.program.live.whole import Live, cluster_of, missing_of, read_whole, say_what_was_hidden
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, size_words

_STDOUT = "-"
_ENDINGS = (".tar.gz", ".tgz")


def answer_collect(request: Request, screen: Screen) -> int:
    """Read, and write one file; 3 where some kinds could not be read."""
    target = _target(request)
    live = read_whole(request, screen, cluster_of(request))
    screen.did(f"read {live.collection.context}  {live.summary}")
    seen = sum(each.sight in ("all", "namespace") for each in live.collection.kinds)
    missing = missing_of(live.collection)
    effect = (
        f"the archive lacks {counted(len(missing), 'kind')}; triage will say what it could not see"
    )
    say_what_was_hidden(screen, live.collection, effect)
    size = _written(target, live, screen)
    details = [counted(seen, "kind"), counted(live.picture.objects, "object"), size_words(size)]
    secrets = sum(each.objects for each in live.collection.kinds if each.kind == "Secret")
    by_name = f"; {counted(secrets, 'Secret')} by name only" if secrets else ""
    screen.did(
        f"wrote {target} ({', '.join(details)}{by_name}; nothing was written to the cluster)"
    )
    if target != _STDOUT:
        screen.did(f"{'next':<11}kscope triage {target}")
    return Status.UNSEEN if missing or live.collection.narrowed else Status.FINE


def _target(request: Request) -> str:
    if not request["context"]:
        raise ProgramError(
            "no cluster was named", helps=["kscope collect --context NAME FILE.tar.gz"]
        )
    if len(request.words) != 1:
        raise ProgramError(
            "collect writes one file", helps=["kscope collect --context NAME FILE.tar.gz"]
        )
    target = request.words[0]
    if target != _STDOUT and not target.endswith(_ENDINGS):
        message = f"{target}: the file is a tar.gz"
        raise ProgramError(message, helps=[f"kscope collect --context NAME {target}.tar.gz"])
    return target


def _written(target: str, live: Live, screen: Screen) -> int:
    """Write the archive; its size in bytes. Raises ProgramError where the file cannot be written."""
    packed = io.BytesIO()
    pack(packed, files_of(live.collection, live.picture), live.collection.read_at)
    data = packed.getvalue()
    if target == _STDOUT:
        screen.write_bytes(data)
        return len(data)
    try:
        # It holds much of a cluster: for its owner alone.
        path = Path(target)
        path.touch(mode=0o600)
        path.write_bytes(data)
    except OSError as problem:
        raise ProgramError(f"{target} cannot be written: {problem.strerror}") from problem
    return len(data)


def pack(out: BinaryIO, files: Iterable[tuple[str, bytes]], read_at: str) -> None:
    """Write files into a tar.gz; equal files of one time give equal bytes but for the head of gzip."""
    time = timegm(strptime(read_at, "%Y-%m-%dT%H:%M:%SZ"))
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), time, 0o600
            archive.addfile(entry, io.BytesIO(data))
