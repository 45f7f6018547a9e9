"""What is stuck in a cluster that is brought: one click from its first look."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import upload

_PROD_EU = Path(__file__).parents[2] / "data" / "prod-eu.yaml"


def _brought(page: Page) -> int:
    """A run of the cluster, and its triage; returns the run's id."""
    upload(page, "prod-eu", _PROD_EU.read_bytes())
    page.locator("a[data-page=triage]").click()
    expect(page.locator("main.triage[aria-busy=false]")).to_be_visible()
    return int(page.url.split("/runs/")[1].split("/")[0])


def test_three_causes_are_found_with_their_changes(page: Page) -> None:
    run = _brought(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("3 causes hold 40 pods.")
    expect(page.locator(".tabs .tcount")).to_have_text("3")
    expect(page.locator(".sg")).to_have_count(3)
    expect(page.locator(".sg").first).to_contain_text("4 nodes like general-a1: 20 of 20")
    expect(page.locator("#frozen")).to_contain_text("nothing has been played")
    told = page.request.get(f"/api/v1/runs/{run}/triage/").json()
    cards = page.get_by_role("article")
    expect(cards).to_have_count(len(told["groups"]))
    for place, group in enumerate(told["groups"]):
        shown = " ".join(cards.nth(place).locator("header").inner_text().split())
        assert group["cause"] in shown
        for change in group["changes"]:
            text = f"places {change['places']} of {change['of']}"
            line = cards.nth(place).locator(".fx").filter(has_text=change["text"])
            expect(line.first).to_contain_text(text)
    _walk_by_keys(page)
    _open_the_first_fork(page)


def _walk_by_keys(page: Page) -> None:
    """From cause to cause, and to the cause of a pod."""
    page.keyboard.press("j")
    expect(page.locator("#cause-0")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#cause-1")).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator(".ev")).to_have_count(0)
    page.keyboard.press("e")
    page.keyboard.press("/")
    page.keyboard.type("kafka-3")
    page.keyboard.press("Enter")
    expect(page.locator("#cause-2")).to_be_focused()


def _open_the_first_fork(page: Page) -> None:
    """Its board has the nodes that were added."""
    page.get_by_role("button", name="Open fork: Add 4 nodes like general-a1").click()
    expect(page.get_by_text("general-a1-more-1-1", exact=False).first).to_be_visible()
