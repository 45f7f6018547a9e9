"""Which account the embedded servers run as, and which directories it can reach.

PostgreSQL refuses to run as root. When we are root, the servers run as an existing unprivileged
account: that of the database files, where there are some. No account is created, and no directory
above ours gets wider rights. Files that the account cannot reach are placed, or copied, below /var.
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


def database_place(data: Path) -> tuple[Path, User | None]:
    """Where the database files of *data* are, or will be, and whose server it is; None: ours.

    Files that are there stay whose they are: PostgreSQL serves nobody else's. For root new ones go
    into *data*, or below /var/lib where the server account cannot go there. Raises StartError when
    those that are there cannot be served.
    """
    wanted = (data / "postgres").resolve()
    if os.geteuid() != 0:
        owner = _owner_of_files(wanted)
        if owner is not None and owner.uid != os.geteuid():
            raise _not_served(wanted, owner, f"Start kscope as {owner.name}")
        return wanted, None
    apart = ROOT_STATE / hashlib.sha256(os.fsencode(data)).hexdigest()[:16] / "postgres"
    for place in (wanted, apart):
        owner = _owner_of_files(place)
        if owner is not None:
            return place, _able_to_serve(place, owner)
    account = server_account()
    return (wanted if account and can_enter(wanted.parent, account) else apart), account


def open_way(folder: Path) -> None:
    """Make *folder*; where it is below /var, let others pass it, whatever the umask is.

    They can list nothing there, and what is below has rights of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for step in (folder, *folder.parents):
        if step.is_relative_to(ROOT_STATE) or step.is_relative_to(ROOT_CACHE):
            step.chmod(step.stat().st_mode | 0o111)


def reachable_copy(base: Path, parts: Sequence[str], user: User | None, version: str) -> Path:
    """*base*, or a directory below /var/cache holding its *parts* when *user* cannot go to *base*.

    The copy is made beside and moved into place, so that a killed start leaves no half copy.
    """
    if user is None or can_enter(base, user):
        return base
    copy = ROOT_CACHE / version
    open_way(ROOT_CACHE)
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


def _owner_of_files(place: Path) -> User | None:
    """Whose the database files in *place* are; None when there are none."""
    try:
        status = place.stat()
        if status.st_uid == os.geteuid() and not any(place.iterdir()):
            return None
    except FileNotFoundError:
        return None
    try:
        entry = pwd.getpwuid(status.st_uid)
    except KeyError:  # No group of files is taken on with them: it may be root's.
        return User(f"account {status.st_uid}", status.st_uid, status.st_uid)
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _able_to_serve(place: Path, owner: User) -> User:
    if owner.uid == 0:
        way_out = "PostgreSQL does not run as root: give them to another account (chown -R)"
        raise _not_served(place, owner, way_out)
    if not can_enter(place, owner):
        way_out = f"{owner.name} cannot go there: let it pass the folders above"
        raise _not_served(place, owner, way_out)
    return owner


def _not_served(place: Path, owner: User, way_out: str) -> StartError:
    return StartError(
        f"The database files in {place} belong to {owner.name}. {way_out}; "
        "or start on other files (KSCOPE_DATA)."
    )
