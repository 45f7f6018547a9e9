"""A server where everybody logs in: an editor shares a run, a viewer looks at it, and loses it."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import watched_page
from tests.e2e.stories import PATIENCE_MS
from tests.up.up_process import Up

PASSWORD = "a long enough phrase"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, str]]:
    """The address of a server that requires a login, and its admin's password."""
    with tempfile.TemporaryDirectory(prefix="kscope-e2e-") as folder:
        Path(folder).chmod(0o755)
        with Up(Path(folder, "data"), env={"KSCOPE_LOGIN": "required"}) as up:
            up.wait_until_serving()
            match = re.search(r"password (\S+)", up.output)
            assert match, up.output
            yield f"http://localhost:{up.port}/", match[1]


def log_in(page: Page, name: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".menu summary")).to_contain_text(name)


def make_account(page: Page, name: str, role: str) -> None:
    page.goto("/admin/auth/user/add/")
    page.locator("#id_username").fill(name)
    page.locator("#id_password1").fill(PASSWORD)
    page.locator("#id_password2").fill(PASSWORD)
    page.get_by_role("button", name="Save and continue editing").click()
    page.locator("#id_account-0-role").select_option(role)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("changed successfully")


def test_a_run_is_shared_and_taken_back(browser: Browser, server: tuple[str, str]) -> None:
    address, password = server
    with watched_page(browser, address) as admin:
        log_in(admin, "admin", password)
        make_account(admin, "eva", "editor")
        make_account(admin, "vic", "viewer")
    with watched_page(browser, address) as eva, watched_page(browser, address) as vic:
        log_in(eva, "eva", PASSWORD)
        eva.goto("/stories/")
        eva.get_by_role("button", name="Start run of").first.click()
        eva.wait_for_url(re.compile(r"/runs/\d+/"))
        run = eva.url
        log_in(vic, "vic", PASSWORD)
        _is_not_there(vic, run)

        _share(eva, "shared")
        _can_be_watched(vic, run)

        _share(eva, "private")
        expect(vic.locator("#connection")).to_have_attribute(
            "data-state", "gone", timeout=PATIENCE_MS
        )
        _is_not_there(vic, run)


def _is_not_there(page: Page, run: str) -> None:
    answer = page.goto(run)
    assert answer is not None
    assert answer.status == 404


def _share(page: Page, visibility: str) -> None:
    page.locator("#share").click()
    page.get_by_label("Visibility").select_option(visibility)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#share-state")).to_have_text(visibility)


def _can_be_watched(page: Page, run: str) -> None:
    page.goto(run)
    expect(page.get_by_text("read only")).to_be_visible()
    expect(page.locator("#connection")).to_have_attribute("data-state", "open", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Step one event", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Fork here")).to_have_count(0)


def test_anonymous_users_see_public_runs_only(browser: Browser, server: tuple[str, str]) -> None:
    with watched_page(browser, server[0]) as page:
        page.goto("/")
        expect(page.get_by_role("heading", name="Stories")).to_be_visible()
        expect(page.get_by_role("button", name="Start", exact=False)).to_have_count(0)
        page.get_by_role("link", name="Log in").click()
        expect(page).to_have_url(re.compile(r"/login/\?next=/$"))


def test_a_token_is_made_on_the_account_page(browser: Browser, server: tuple[str, str]) -> None:
    with watched_page(browser, server[0]) as page:
        log_in(page, "admin", server[1])
        page.locator(".menu summary").click()
        page.get_by_role("link", name="Account and tokens").click()
        page.get_by_label("Name").fill("ci")
        page.get_by_role("button", name="Create token").click()
        expect(page.get_by_text("it is shown only once")).to_be_visible()
        page.get_by_role("button", name="Revoke the token ci").click()
        expect(page.get_by_text("You have no tokens")).to_be_visible()
        page.locator(".menu summary").click()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("link", name="Log in")).to_be_visible()
