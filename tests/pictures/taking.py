"""Takes the pictures: runs are made by REST, pages are drawn by Chromium, which writes WebP."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from playwright.sync_api import APIRequestContext, Browser, Page

from tests.pictures.scenes import CHANGE, FORKED_AT, SCENES, SICK, SIZES, SURGE, THEMES, Scene
from tests.waiting import HANG_SECONDS, wait_for
from tests.walk.runs import demos

# Of 100: text stays sharp, and a picture small enough to be committed.
QUALITY = 82
# Nothing is drawn while a page reads the run, asks an engine, or loads its typefaces.
IS_DRAWN = """
() => !document.querySelector("main.waiting, main > h1 + p.mute:only-of-type, .computing")
  && !document.querySelector("[aria-busy=true]") && document.fonts.status === "loaded"
  && ![...document.querySelectorAll("main [role=status]")].some((each) => each.textContent.trim().endsWith("…"))
"""
# What moves once a page is there: panels that slide in, canvases that are drawn a frame later.
SETTLES_MS = 1500


class Studio:
    """The runs that pictures are taken of, and the address of each scene."""

    def __init__(self, api: APIRequestContext) -> None:
        self._api = api
        scenarios = demos(api)
        self._runs = {
            SURGE: self._played(scenarios[SURGE]),
            # As it was brought: nothing is played.
            SICK: self._made({"scenario": scenarios[SICK]}),
        }
        self._fork = self._forked(self._runs[SURGE])

    def address(self, scene: Scene) -> str:
        """Where the scene is seen."""
        run = self._runs.get(scene.run, 0)
        seq = self._seq(run, scene.at) if scene.at else 0
        return scene.address.format(id=run, seq=seq, fork=self._fork)

    def _made(self, wanted: dict[str, Any]) -> int:
        made = self._api.post("/api/v1/runs/", data=wanted)
        assert made.ok, made.text()
        return int(made.json()["id"])

    def _played(self, scenario: int) -> int:
        run = self._made({"scenario": scenario, "play": True, "speed": "max"})
        self._wait(run)
        return run

    def _forked(self, run: int) -> int:
        """A fork of the run, with a change, played to its end."""
        asked = self._api.post(f"/api/v1/runs/{run}/fork/", data={"seq": self._seq(run, FORKED_AT)})
        assert asked.ok, asked.text()
        fork = int(asked.json()["id"])
        done = self._api.post(f"/api/v1/runs/{fork}/commands/", data=CHANGE)
        assert done.ok, done.text()
        play = {"action": "play", "speed": "max"}
        self._api.post(f"/api/v1/runs/{fork}/transport/", data=play)
        self._wait(fork)
        return fork

    def _wait(self, run: int) -> None:
        address = f"/api/v1/runs/{run}/"
        wait_for(lambda: self._api.get(address).json()["status"] == "finished")

    def _seq(self, run: int, at: int) -> int:
        """The newest event at an instant."""
        asked = f"/api/v1/runs/{run}/events/?to={at}&order=desc&limit=1"
        return int(self._api.get(asked).json()["items"][0]["seq"])


def pictures(browser: Browser, address: str, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Each picture with its name, such as "board-dark-390"; of all scenes without *names*."""
    wanted = [scene for scene in SCENES if not names or scene.name in names]
    with closing(browser.new_context(base_url=address)) as context:
        studio = Studio(context.request)
        places = [(scene, studio.address(scene)) for scene in wanted]
    for theme in THEMES:
        for width, height, scale in SIZES:
            window = {"width": width, "height": height}
            with closing(
                browser.new_context(
                    base_url=address,
                    viewport=window,  # type: ignore[arg-type]
                    device_scale_factor=scale,
                    color_scheme=theme,  # type: ignore[arg-type]
                    reduced_motion="reduce",
                )
            ) as context:
                page = context.new_page()
                for scene, place in places:
                    yield f"{scene.name}-{theme}-{width}", _taken(page, place, scene.shows)


def _taken(page: Page, place: str, shows: str) -> bytes:
    page.goto(place)
    page.locator(shows).first.wait_for(timeout=1000 * HANG_SECONDS)
    page.wait_for_function(IS_DRAWN, timeout=1000 * HANG_SECONDS)
    page.wait_for_timeout(SETTLES_MS)
    # What a part of the page asks for itself, it says only then.
    page.wait_for_function(IS_DRAWN, timeout=1000 * HANG_SECONDS)
    asked = {"format": "webp", "quality": QUALITY}
    taken = page.context.new_cdp_session(page).send("Page.captureScreenshot", asked)
    return base64.b64decode(taken["data"])
