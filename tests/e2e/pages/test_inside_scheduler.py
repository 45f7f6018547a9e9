"""Inside: a scheduling cycle, step by step, and where it can be opened."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many


def test_keys_lead_through_a_cycle_and_its_failure(page: Page) -> None:
    run = finished_run(page, "cycles", one_pod_too_many("cycles"))
    page.goto(f"/runs/{run}/pods/shop/big-0/")
    attempts = page.get_by_role("region", name="Attempts")
    attempts.get_by_role("link", name="Inside of cycle 1").click(timeout=PATIENCE_MS)
    stage = page.get_by_role("region", name="Step")
    heading = stage.locator("header").get_by_role("heading")
    expect(heading).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"/runs/{run}/inside/scheduler/?cycle=1&step=bind")
    expect(heading).to_have_text("Bind", timeout=PATIENCE_MS)
    expect(page.get_by_text("Viewing the past")).to_be_visible()
    page.keyboard.press("5")
    expect(heading).to_have_text("Filter")
    expect(page).to_have_url(re.compile(r"cycle=1&.*step=filter"))
    expect(stage.get_by_role("row").filter(has_text="small")).to_contain_text("fits")
    page.go_back()
    expect(heading).to_have_text("Bind")
    memory = page.get_by_role("complementary", name="Code and memory")
    expect(memory).to_contain_text("Scheduler.bind()")
    page.keyboard.press("Home")
    expect(memory.locator(".changed")).to_contain_text(["3 → 2", "– → big-0", "0 → 1"])
    page.keyboard.press("]")
    page.keyboard.press("]")
    steps = page.get_by_role("navigation", name="Steps of the cycle")
    expect(steps.get_by_role("heading")).to_have_text("Cycle 3", timeout=PATIENCE_MS)
    page.keyboard.press("End")
    expect(heading).to_have_text("PostFilter", timeout=PATIENCE_MS)
    expect(steps.get_by_role("listitem").last).to_have_class(re.compile("failed"))


def test_a_cycle_that_there_is_not_says_so(page: Page) -> None:
    run = finished_run(page, "no-cycle", one_pod_too_many("no-cycle"))
    page.goto(f"/runs/{run}/inside/scheduler/?cycle=99")
    stage = page.get_by_role("region", name="Step")
    expect(stage).to_contain_text("There is no cycle 99", timeout=PATIENCE_MS)
    stage.get_by_role("button", name="Show the newest cycle").click()
    heading = page.get_by_role("navigation", name="Steps of the cycle").get_by_role("heading")
    expect(heading).to_have_text("Cycle 3", timeout=PATIENCE_MS)
