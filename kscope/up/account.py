"""Which account the embedded servers run as, and which directories it can reach.

PostgreSQL refuses to run as root. When we are root, the servers run as an existing unprivileged
account. No account is created, and no directory above ours gets wider rights. Files that the
account cannot reach are placed, or copied, below /var.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kscope.up.children import StartError, User

ACCOUNTS = ("postgres", "nobody")
ROOT_STATE = Path("/var/lib/kscope")
ROOT_CACHE = Path("/var/cache/kscope")
# Of the path of a unix socket, by the system that allows fewer (macOS); Linux allows 107.
MOST_SOCKET_BYTES = 103
# The longest that is made in a folder of `sockets_folder`.
LONGEST_SOCKET = "/servers/.s.PGSQL.5432"


def server_account() -> User | None:
    """None when we are an ordinary user; otherwise the account to switch to."""
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return User(name, entry.pw_uid, entry.pw_gid)
    raise StartError(
        "PostgreSQL does not run as root, and this machine has neither a 'postgres' nor a 'nobody' "
        "account. Start kscope as an ordinary user, or set DATABASE_URL and REDIS_URL."
    )


def can_enter(path: Path, user: User) -> bool:
    """Whether the mode bits let *user* enter *path* and every existing directory above it."""
    return all(_allows(step, user) for step in (path, *path.parents) if step.exists())


def state_directory(data: Path, user: User | None) -> Path:
    """Where the database files go: in *data*, or for root below /var/lib when *user* cannot go there."""
    wanted = data / "postgres"
    if user is None or can_enter(data.parent, user):
        return wanted
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return ROOT_STATE / digest / "postgres"


def reachable_copy(base: Path, parts: Sequence[str], user: User | None, version: str) -> Path:
    """*base*, or a directory below /var/cache holding its *parts* when *user* cannot go to *base*.

    The copy is made beside and moved into place, so that a killed start leaves no half copy.
    """
    if user is None or can_enter(base, user):
        return base
    copy = ROOT_CACHE / version
    if not copy.is_dir():
        draft = ROOT_CACHE / f"{version}.{os.getpid()}"
        for part in parts:
            if (base / part).exists():
                shutil.copytree(base / part, draft / part, symlinks=True)
        _open_to_readers(draft)
        try:
            draft.rename(copy)
        except OSError:  # another start was quicker
            shutil.rmtree(draft, ignore_errors=True)
    if not can_enter(copy, user):
        raise StartError(f"{copy} cannot be read by {user.name}; check the rights of {ROOT_CACHE}.")
    return copy


def sockets_folder(prefix: str, user: User | None) -> Path:
    """A new folder for unix sockets: in the temporary folder, or where paths are short enough.

    Raises StartError where *user* can go nowhere like that.
    """
    bases = dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp"))
    for base in bases:
        longest = f"{base}/{prefix}12345678{LONGEST_SOCKET}"
        is_short = len(os.fsencode(longest)) <= MOST_SOCKET_BYTES
        is_open = os.access(base, os.W_OK | os.X_OK)
        if is_short and is_open and (user is None or can_enter(Path(base), user)):
            return Path(tempfile.mkdtemp(prefix=prefix, dir=base))
    raise StartError(
        f"There is no folder for the sockets of the servers: none of {', '.join(bases)} has a path "
        "short enough and can be written and entered. Set TMPDIR to one that is."
    )


def own_directory(path: Path, user: User | None, mode: int = 0o700) -> Path:
    """Make *path* with rights *mode* and give it to *user* (it stays ours when None)."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)
    if user is not None:
        os.chown(path, user.uid, user.gid)
    return path


def _allows(step: Path, user: User) -> bool:
    status = step.stat()
    if status.st_uid == user.uid:
        wanted = stat.S_IXUSR
    elif status.st_gid == user.gid:
        wanted = stat.S_IXGRP
    else:
        wanted = stat.S_IXOTH
    return bool(status.st_mode & wanted)


def _open_to_readers(tree: Path) -> None:
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder, name)
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)
