"""The command palette: to a page, an object or an event by its name."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many


def test_the_palette_leads_to_an_object(page: Page) -> None:
    run = finished_run(page, "palette", one_pod_too_many("palette"))
    page.goto(f"/runs/{run}/?seq=5")
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox")
    expect(field).to_be_focused()
    field.fill("big-0")
    expect(page.get_by_role("option").first).to_contain_text("shop/big-0")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/runs/{run}/pods/shop/big-0/\?.*seq=5"))


def test_a_number_leads_to_its_event(page: Page) -> None:
    run = finished_run(page, "palette-event", one_pod_too_many("palette-event"))
    page.goto(f"/runs/{run}/")
    page.keyboard.press("/")
    page.get_by_role("combobox").fill("#7")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"seq=7"), timeout=PATIENCE_MS)
    expect(page.get_by_role("dialog")).to_have_count(0)
