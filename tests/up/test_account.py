"""Where the database files go, and which account serves them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kscope.up import account
from kscope.up.account import database_place, open_way, server_account
from kscope.up.children import StartError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
NOBODY_KNOWN = 54321


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder that all accounts can enter, on a machine whose /var is beside it."""
    with tempfile.TemporaryDirectory(prefix="kscope-place-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        monkeypatch.setattr(account, "ROOT_STATE", folder / "state")
        monkeypatch.setattr(account, "ROOT_CACHE", folder / "cache")
        (folder / "data").mkdir(mode=0o755)
        yield folder / "data"


def files_of(uid: int, place: Path) -> Path:
    place.mkdir(parents=True, mode=0o700)
    (place / "PG_VERSION").write_text("18\n")
    os.chown(place, uid, uid)
    return place


def test_an_ordinary_user_serves_in_the_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY_KNOWN)
    assert database_place(data) == (data / "postgres", None)


def test_files_of_another_account_are_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = files_of(os.getuid(), data / "postgres")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY_KNOWN)
    with pytest.raises(StartError, match=f"database files in {place} belong to .*Start kscope as"):
        database_place(data)


@as_root
def test_root_serves_files_as_their_owner(data: Path) -> None:
    place = files_of(NOBODY_KNOWN, data / "postgres")
    os.chown(data, NOBODY_KNOWN, NOBODY_KNOWN)
    data.chmod(0o700)
    found, user = database_place(data)
    assert (found, user and user.uid) == (place, NOBODY_KNOWN)


@as_root
@pytest.mark.parametrize("owner", [0, NOBODY_KNOWN])
def test_new_files_go_where_servers_can(data: Path, owner: int) -> None:
    os.chown(data, owner, owner)
    assert database_place(data) == (data / "postgres", server_account())
    data.chmod(0o700)
    found, user = database_place(data)
    assert found.is_relative_to(account.ROOT_STATE)
    assert user == server_account()


@as_root
def test_files_below_var_are_found_again(data: Path) -> None:
    data.chmod(0o700)
    place, user = database_place(data)
    assert user is not None
    files_of(user.uid, place)
    data.chmod(0o755)
    assert database_place(data) == (place, user)


@as_root
def test_files_that_nobody_can_serve_are_refused(data: Path) -> None:
    place = files_of(0, data / "postgres")
    with pytest.raises(StartError, match="belong to root. PostgreSQL does not run as root"):
        database_place(data)
    os.chown(place, NOBODY_KNOWN, NOBODY_KNOWN)
    data.chmod(0o700)
    with pytest.raises(StartError, match=f"account {NOBODY_KNOWN} cannot go there"):
        database_place(data)


def test_the_way_is_open_under_any_umask(data: Path) -> None:
    before = os.umask(0o077)
    try:
        open_way(account.ROOT_STATE / "digest")
        open_way(data / "below")
    finally:
        os.umask(before)
    steps = (account.ROOT_STATE, account.ROOT_STATE / "digest", data / "below")
    assert [step.stat().st_mode & 0o777 for step in steps] == [0o711, 0o711, 0o700]
