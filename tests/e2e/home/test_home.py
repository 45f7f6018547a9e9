"""The home page: a living picture, three doors, one's own runs, the first stories."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many

_BROUGHT = Path(__file__).parents[2] / "data" / "prod-eu.yaml"
_CLOCK = "() => parseFloat(document.querySelector('.live .clock').textContent)"
# Not a text to be evaluated, which the policy of the site forbids.
_LATER = "(than) => parseFloat(document.querySelector('.live .clock').textContent) > than"
_PAINTED = """
() => {
  const canvas = document.querySelector(".live canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}"""


def test_the_picture_plays_and_pauses(page: Page) -> None:
    page.goto("/")
    page.wait_for_function(_LATER, arg=0, timeout=PATIENCE_MS)
    begun = page.evaluate(_CLOCK)
    page.wait_for_function(_LATER, arg=begun + 0.3, timeout=PATIENCE_MS)
    assert page.evaluate(_PAINTED) > 20
    page.get_by_role("button", name="Pause the picture").click()
    stopped = page.evaluate(_CLOCK)
    page.wait_for_timeout(400)
    assert page.evaluate(_CLOCK) == stopped
    page.locator(".live canvas").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause the picture")).to_be_visible()
    page.wait_for_function(_LATER, arg=stopped + 0.2, timeout=PATIENCE_MS)


def test_the_picture_rests_off_screen(page: Page) -> None:
    page.goto("/")
    page.wait_for_function(_LATER, arg=0, timeout=PATIENCE_MS)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    left = page.evaluate(_CLOCK)
    page.wait_for_timeout(400)
    assert page.evaluate(_CLOCK) == left
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function(_LATER, arg=left, timeout=PATIENCE_MS)


def test_the_picture_stands_still_where_motion_is_unwanted(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    page.wait_for_function(_LATER, arg=0, timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Play the picture")).to_be_visible()
    stands = page.evaluate(_CLOCK)
    page.wait_for_timeout(400)
    assert page.evaluate(_CLOCK) == stands
    assert page.evaluate(_PAINTED) > 20
    page.emulate_media(reduced_motion="no-preference")


def test_what_the_picture_tells_leads_to_the_pod(page: Page) -> None:
    page.goto("/")
    told = page.locator(".live .says")
    expect(told).to_contain_text(re.compile("gets|waits"), timeout=PATIENCE_MS)
    page.get_by_role("button", name="Pause the picture").click()
    pod = told.inner_text().split()[0]
    told.click()
    # Until the run was played the page says so, and goes on by itself.
    expect(page).to_have_url(re.compile(rf"/runs/\d+/pods/{pod}/\?seq=\d+"), timeout=PATIENCE_MS)
    expect(page.locator("main.podpage")).to_be_visible(timeout=PATIENCE_MS)


def test_files_are_read_once_they_are_chosen(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("button", name="Import files")).to_be_hidden()
    page.locator(".door input[type=file]").set_input_files(_BROUGHT)
    expect(page.locator("main.firstlook")).to_be_visible(timeout=PATIENCE_MS)


def test_own_runs_are_listed_with_what_they_did(page: Page) -> None:
    run = finished_run(page, "of-my-own", one_pod_too_many("of-my-own"))
    page.goto("/")
    row = page.locator(f"tr[data-run='{run}']")
    expect(row).to_contain_text("finished")
    expect(row.locator(".trend rect").first).to_be_attached(timeout=PATIENCE_MS)
    row.get_by_role("link", name="of-my-own").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/$"))
