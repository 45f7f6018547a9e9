"""Browser tests run against the servers that `make up` starts, in a real Chromium.

They run in a pytest process of their own (`make test-e2e`): Playwright's event loop would break
asynchronous tests that come after it.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.e2e.stories import PATIENCE_MS
from tests.up.up_process import Up
from tests.waiting import HANG_SECONDS

expect.set_options(timeout=PATIENCE_MS)

# The headless shell renders the same pages without windows, for two thirds of the CPU time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # Chromium otherwise talks to its maker in the background, which closed networks answer slowly.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(frozen=True, slots=True)
class Site:
    """A running kscope."""

    address: str
    """With the final slash."""
    password: str
    """Of the user `admin`."""
    data: Path


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """`manage.py up` on an empty data directory."""
    with tempfile.TemporaryDirectory(prefix="kscope-e2e-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "data")
        # One language more is offered, which browsers do not ask for by themselves.
        with Up(data, env={"KSCOPE_PSEUDO_LANGUAGE": "1"}) as up:
            up.wait_until_serving()
            match = re.search(r"password (\S+)", up.output)
            assert match, up.output
            yield Site(f"http://localhost:{up.port}/", match[1], data)


@pytest.fixture(autouse=True)
def no_run_plays_on(site: Site) -> Iterator[None]:
    """Runs left playing would take turns with those of later tests, and slow them down."""
    yield
    with urlopen(f"{site.address}api/v1/runs/", timeout=HANG_SECONDS) as answer:
        listed = json.load(answer)["items"]
    for run in listed:
        if run["status"] == "playing":
            urlopen(
                Request(
                    f"{site.address}api/v1/runs/{run['id']}/transport/",
                    b'{"action": "pause"}',
                    {"Content-Type": "application/json"},
                ),
                timeout=HANG_SECONDS,
            ).close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the session; skips where there is none, except in CI."""
    found = find_browser()
    if found is None:
        message = "no Chromium on PATH; install it (Debian: apt install chromium-headless-shell)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = launch(playwright, found)
        yield browser
        browser.close()


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def launch(playwright: Playwright, path: str | None) -> Browser:
    """Start the Chromium at *path*, without windows."""
    return playwright.chromium.launch(executable_path=path, args=FLAGS)


@pytest.fixture(scope="session")
def visitor(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """A browser with the files of the site, which each test would fetch and compile again."""
    with closing(new_context(browser, site.address)) as context:
        yield context


@pytest.fixture(scope="session")
def tab(visitor: BrowserContext) -> Page:
    """The page of most tests: a new one takes more than half as long again to show the same."""
    return visitor.new_page()


@pytest.fixture
def page(visitor: BrowserContext, tab: Page, site: Site) -> Iterator[Page]:
    """A page that remembers nothing; an error of a script or against the policy fails the test."""
    try:
        with _watched(tab):
            yield tab
    finally:
        tab.unroute_all()
        tab.emulate_media(media="screen", color_scheme="light", reduced_motion="no-preference")
        tab.goto("/healthz")
        tab.evaluate("sessionStorage.clear()")
        _forget(visitor, site)
        for other in visitor.pages:
            if other != tab:
                other.close()


@pytest.fixture
def fresh_page(visitor: BrowserContext, site: Site) -> Iterator[Page]:
    """The same for a test with scripts of its own, which a page keeps."""
    with closing(visitor.new_page()) as page:
        try:
            with _watched(page):
                yield page
        finally:
            _forget(visitor, site)


def _forget(visitor: BrowserContext, site: Site) -> None:
    """Drop what a test has left in the browser."""
    visitor.clear_cookies()
    visitor.new_cdp_session(visitor.pages[0]).send(
        "Storage.clearDataForOrigin",
        {"origin": site.address.rstrip("/"), "storageTypes": "local_storage"},
    )


@contextmanager
def watched_page(browser: Browser, address: str) -> Iterator[Page]:
    """A page at *address*, in a browser of its own; its errors fail the test, too."""
    with closing(new_context(browser, address)) as context:
        page = context.new_page()
        with _watched(page):
            yield page


def new_context(browser: Browser, address: str, locale: str | None = None) -> BrowserContext:
    """What one visitor of the site at *address* has of a browser, who may ask for a language."""
    window = {"width": 1440, "height": 900}
    context = browser.new_context(base_url=address, viewport=window, locale=locale)
    context.set_default_timeout(PATIENCE_MS)
    return context


@contextmanager
def _watched(page: Page) -> Iterator[None]:
    errors: list[str] = []

    def note(error: Error) -> None:
        errors.append(str(error))

    def note_policy(told: ConsoleMessage) -> None:
        if "Content Security Policy" in told.text:
            errors.append(told.text)

    page.on("pageerror", note)
    page.on("console", note_policy)
    try:
        yield
    finally:
        page.remove_listener("pageerror", note)
        page.remove_listener("console", note_policy)
    assert errors == []
