"""A film of a scheduling decision: it plays, steps both ways, and leaves the run alone."""

import re
from collections import Counter
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.e2e.stories import PATIENCE_MS, cluster_file, finished_run, node, one_pod_too_many, pod
from tests.waiting import wait_for

_LOCAL = Path(__file__).parents[3] / "scenarios" / "local-volumes.yaml"


def test_a_film_plays_and_steps_both_ways(page: Page) -> None:
    run = finished_run(page, "film", one_pod_too_many("film"))
    before = page.request.get(f"/api/v1/runs/{run}/").json()
    page.goto(f"/runs/{run}/pods/shop/big-0/")
    attempts = page.get_by_role("region", name="Attempts")
    attempts.get_by_role("link", name="Film of cycle 1").click(timeout=PATIENCE_MS)
    step = page.get_by_role("complementary", name="This step")
    heading = step.get_by_role("heading", level=2)
    expect(heading).to_have_text("big-0 is the first in activeQ.", timeout=PATIENCE_MS)
    page.keyboard.press("ArrowRight")
    expect(heading).to_have_text("big-0 is popped and is in flight. Cycle 1 begins.")
    expect(page).to_have_url(re.compile(r"cycle=1&.*step=pop\.2"))
    page.keyboard.press("ArrowLeft")
    expect(heading).to_have_text("big-0 is the first in activeQ.")
    page.keyboard.press("4")
    page.keyboard.press("End")
    expect(heading).to_contain_text("The watch confirms it")
    page.keyboard.press("b")
    expect(heading).to_contain_text("is the first in activeQ", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("clock stands", exact=True)).to_be_visible()
    expect(heading).to_contain_text("The watch confirms it", timeout=PATIENCE_MS)
    after = page.request.get(f"/api/v1/runs/{run}/").json()
    assert (after["head"], after["speed"]) == (before["head"], before["speed"])


def test_a_film_only_steps_where_motion_is_reduced(page: Page) -> None:
    run = finished_run(page, "calm-film", one_pod_too_many("calm-film"))
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/runs/{run}/film/?cycle=3&step=filter")
    heading = page.get_by_role("complementary", name="This step").get_by_role("heading", level=2)
    expect(heading).to_have_text("small is refused by NodeResourcesFit.", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_count(0)
    expect(page.get_by_role("group", name="Speed of the film")).to_have_count(0)
    page.keyboard.press("Space")
    expect(heading).to_contain_text("No node fits.")
    page.keyboard.press("i")
    expect(page).to_have_url(re.compile(r"/inside/scheduler/\?.*step=postfilter"))


def test_a_large_search_shows_a_picked_reason(page: Page) -> None:
    # Of 70 nodes every third one has room.
    nodes = [node(f"n{place:02}", cpu="1" if place % 3 else "4") for place in range(70)]
    run = finished_run(page, "wide", cluster_file("wide", *nodes, pod("wide-0", cpu="2")))
    page.goto(f"/runs/{run}/film/?cycle=1&step=filter.10")
    reasons = page.get_by_role("complementary", name="Queues and storage")
    refused = reasons.get_by_role("button", name="Insufficient cpu")
    expect(refused).to_contain_text("46", timeout=PATIENCE_MS)
    strip = page.locator("canvas[aria-label*='70 nodes']")
    expect(strip).to_be_visible()
    refuses, fits = [colour for colour, _ in Counter(strip.evaluate(COLOURS)).most_common(2)]
    before = places(strip, fits), places(strip, refuses)
    # All but the one where the search is.
    assert sum(map(len, before)) == 69
    refused.click()
    expect(refused).to_have_attribute("aria-pressed", "true")
    wait_for(lambda: (places(strip, fits), places(strip, refuses)) == ([], before[1]))
    reasons.get_by_role("button", name="fits").click()
    wait_for(lambda: (places(strip, fits), places(strip, refuses)) == (before[0], []))


# The colour in the middle of each of 70 cells.
COLOURS = """canvas => {
  const [size, scale] = [9, canvas.width / canvas.clientWidth];
  const columns = Math.floor(canvas.clientWidth / size);
  const middle = place => Math.round((place * size + 4) * scale);
  return Array.from({length: 70}, (_, i) => canvas.getContext("2d")
    .getImageData(middle(i % columns), middle(Math.floor(i / columns)), 1, 1).data.join());
}"""


def places(strip: Locator, colour: str) -> list[int]:
    """The cells of that colour."""
    return [place for place, each in enumerate(strip.evaluate(COLOURS)) if each == colour]


def test_a_film_of_a_claim_counts_its_writes(page: Page) -> None:
    run = finished_run(page, "claim-film", _LOCAL.read_bytes())
    page.goto(f"/runs/{run}/volumes/?claim=default/data-db-0")
    page.get_by_role("link", name="Film", exact=True).click(timeout=PATIENCE_MS)
    step = page.get_by_role("complementary", name="This step")
    expect(step).to_contain_text("0 of 4", timeout=PATIENCE_MS)
    page.keyboard.press("End")
    expect(step).to_contain_text("4 of 4")
    expect(page.get_by_role("main")).to_contain_text("each names the other")
