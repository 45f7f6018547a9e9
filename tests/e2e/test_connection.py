"""A connection that dies without a word is noticed, and a command that fails says what failed."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import PATIENCE_MS, finished_board, finished_run, one_pod_too_many


class Relay:
    """Passes bytes on to the site, both ways, or swallows them while the connections stay open."""

    def __init__(self, site: Site) -> None:
        self.target = ("localhost", urlsplit(site.address).port or 80)
        self.passes = threading.Event()
        self.passes.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets: list[socket.socket] = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.listener.getsockname()[1]}/"

    def close(self) -> None:
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if self.passes.is_set():
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(site: Site) -> Iterator[Relay]:
    relay = Relay(site)
    yield relay
    relay.close()


@pytest.fixture
def relayed(browser: Browser, relay: Relay) -> Iterator[Page]:
    context = browser.new_context(base_url=relay.address)
    yield context.new_page()
    context.close()


def test_a_silent_connection_is_not_called_live(relayed: Page, relay: Relay, page: Page) -> None:
    run = finished_run(page, "silent", one_pod_too_many("silent"))
    relayed.goto(f"/runs/{run}/")
    state = relayed.locator("#connection")
    expect(state).to_have_text("Live", timeout=PATIENCE_MS)
    relay.passes.clear()
    expect(state).not_to_have_text("Live", timeout=10_000)
    relay.passes.set()
    expect(state).to_have_text("Live", timeout=PATIENCE_MS)


def test_a_quiet_run_stays_live(page: Page) -> None:
    finished_board(page, "quiet", one_pod_too_many("quiet"))
    states = page.evaluate(
        """() => new Promise((resolve) => {
          const seen = [];
          const text = document.querySelector("#connection span");
          new MutationObserver(() => seen.push(text.textContent)).observe(text, {childList: true, characterData: true, subtree: true});
          setTimeout(() => resolve(seen), 7000);
        })"""
    )
    assert states == []
    expect(page.locator("#connection")).to_have_text("Live")


def test_an_unsent_command_is_reported(page: Page) -> None:
    finished_board(page, "unsent", one_pod_too_many("unsent"))
    page.route("**/transport/", lambda route: route.abort("connectionrefused"))
    page.get_by_role("button", name="Play, the run is finished").click()
    notice = page.get_by_role("alert").filter(has_text="could not be reached")
    expect(notice).to_be_visible()
    expect(page.get_by_text("Failed to fetch")).to_have_count(0)
    page.unroute("**/transport/")
    notice.get_by_role("button", name="Try again").click()
    expect(notice).to_be_hidden()


def test_too_many_requests_say_when_to_come_back(page: Page) -> None:
    finished_board(page, "limited", one_pod_too_many("limited"))
    page.route(
        "**/transport/",
        lambda route: route.fulfill(
            status=429, headers={"Retry-After": "7"}, json={"detail": "Too many requests"}
        ),
    )
    page.get_by_role("button", name="Step one event", exact=True).click()
    expect(page.get_by_text("Too many requests. Try again in 7 seconds.")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
