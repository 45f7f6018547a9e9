"""The helpers of settings refuse what they cannot understand."""

from pathlib import Path

import pytest

from kscope import env


@pytest.mark.parametrize(("text", "value"), [("1", True), ("ON", True), ("no", False), ("", True)])
def test_bool_reads_the_usual_words(text: str, value: bool) -> None:
    assert env.env_bool({"X": text}, "X", default=True) is value


def test_bool_names_the_variable_of_an_unknown_word() -> None:
    with pytest.raises(env.BadSetting, match="X is 'maybe'; write one of 1, true"):
        env.env_bool({"X": "maybe"}, "X", default=False)


@pytest.mark.parametrize("text", ["ten", "1.5", "-1", "11"])
def test_int_refuses_text_and_numbers_out_of_range(text: str) -> None:
    with pytest.raises(env.BadSetting, match="X is"):
        env.env_int({"X": text}, "X", 5, lowest=0, highest=10)


def test_choice_lists_what_may_be_written() -> None:
    with pytest.raises(env.BadSetting, match="'LOUD'; write one of INFO, DEBUG"):
        env.env_choice({"X": "LOUD"}, "X", "INFO", ("INFO", "DEBUG"))


def test_list_drops_empty_words() -> None:
    assert env.env_list({"X": "a, ,b,"}, "X", []) == ["a", "b"]


def test_postgres_address_of_a_server() -> None:
    entry = env.postgres_database("postgresql://me:p%40ss@db.example:5433/kscope?sslmode=require")
    assert entry["USER"] == "me"
    assert entry["PASSWORD"] == "p@ss"
    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == ("db.example", "5433", "kscope")
    assert entry["OPTIONS"] == {"sslmode": "require"}


def test_postgres_address_of_a_directory_with_space() -> None:
    entry = env.postgres_database("postgresql://kscope@/kscope?host=%2Ftmp%2Fa%20b")
    assert entry["HOST"] == "/tmp/a b"
    assert entry["OPTIONS"] == {}


@pytest.mark.parametrize("url", ["mysql://h/d", "h/d", "postgresql://h/"])
def test_postgres_refuses_other_addresses(url: str) -> None:
    with pytest.raises(env.BadSetting, match="DATABASE_URL"):
        env.postgres_database(url)


def test_broker_socket_address_follows_celerys_spelling() -> None:
    assert env.celery_broker("unix:///tmp/v.sock?db=2") == (
        "redis+socket:///tmp/v.sock?virtual_host=2"
    )
    assert env.celery_broker("redis://h:6379/1") == "redis://h:6379/1"


def test_where_the_secret_key_comes_from(
    tmp_path: Path,
) -> None:
    first, lasts = env.secret_key({}, tmp_path)
    assert not lasts
    assert env.secret_key({}, tmp_path)[0] != first
    (tmp_path / "secret-key").write_text("kept\n")
    assert env.secret_key({}, tmp_path) == ("kept", True)
    assert env.secret_key({"KSCOPE_SECRET_KEY": "given"}, tmp_path) == ("given", True)
