"""The password of the first admin: it is shown once, also when a start is interrupted."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from kscope.management.commands import prepare

pytestmark = pytest.mark.django_db


def reported(report: Path) -> str:
    """What a start would show now. It deletes the report only after that."""
    prepare.first_admin_reported(report)
    return str(json.loads(report.read_text())["password"])


def test_an_unread_password_is_reported_again(tmp_path: Path) -> None:
    password = reported(tmp_path / "report")
    assert reported(tmp_path / "report") == password
    assert User.objects.get(username="admin").check_password(password)


def test_a_password_that_was_shown_is_gone(tmp_path: Path) -> None:
    reported(tmp_path / "report")
    (tmp_path / "report").unlink()
    assert reported(tmp_path / "report") == ""


def test_a_password_that_was_changed_is_not_reported(tmp_path: Path) -> None:
    reported(tmp_path / "report")
    call_command("account", "password", "admin")
    assert reported(tmp_path / "report") == ""


@pytest.mark.parametrize("left", ["", "{", '{"password": "never-taken"}'])
def test_a_report_without_its_account_is_replaced(left: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.write_text(left)
    assert User.objects.get_or_create(username="somebody")
    assert reported(report) not in ("", "never-taken")


def test_an_interruption_before_the_report_leaves_no_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare.first_admin_reported(tmp_path / "report")
    assert not User.objects.filter(username="admin").exists()
