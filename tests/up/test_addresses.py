"""The addresses of `up`: of the page as people write it, and of the servers' sockets."""

import os
import tempfile
from pathlib import Path

import pytest

from kscope.up.account import LONGEST_SOCKET, MOST_SOCKET_BYTES, sockets_folder
from kscope.up.children import StartError
from kscope.up.options import Options
from kscope.up.postgres import Postgres


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://localhost:8109/"),
        ("::", "http://localhost:8109/"),
        ("::1", "http://[::1]:8109/"),
        ("2001:db8::2", "http://[2001:db8::2]:8109/"),
        ("kscope.example", "http://kscope.example:8109/"),
    ],
)
def test_an_ipv6_address_is_written_in_brackets(host: str, address: str) -> None:
    options = Options(room=Path("/"), data=Path("/"), host=host, port=8109, workers=1)
    assert options.address == address


@pytest.mark.parametrize("name", ["short", "a-long-name-" * 9, "ü" * 40])
def test_sockets_get_a_path_that_is_short_enough(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    folder = sockets_folder("kscope-", None)
    folder.rmdir()
    assert len(os.fsencode(f"{folder}{LONGEST_SOCKET}")) <= MOST_SOCKET_BYTES


@pytest.mark.parametrize("sign", ['"', "$", "`", "\\"])
def test_a_path_that_initdb_cannot_use_is_named(sign: str, tmp_path: Path) -> None:
    postgres = Postgres(tmp_path / "data", tmp_path, tmp_path / "log")
    with pytest.raises(StartError, match="Move the checkout"):
        postgres._create(Path(f"/srv/odd{sign}path/bin"))
