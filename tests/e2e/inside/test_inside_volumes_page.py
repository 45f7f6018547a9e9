"""Inside: the syncs of a claim, step by step, and where they lead."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run

DEMO = Path(__file__).parents[3] / "scenarios" / "half-bound.yaml"


def test_keys_lead_through_the_steps_of_a_claim(page: Page) -> None:
    run = finished_run(page, "inside", DEMO.read_bytes())
    page.goto(f"/runs/{run}/volumes/?claim=shop/orders")
    binding = page.get_by_role("region", name="Binding of orders")
    binding.get_by_role("link", name="Inside").click(timeout=PATIENCE_MS)
    spine = page.get_by_role("navigation", name="Syncs and ticks")
    shown = spine.locator("[aria-current=step]")
    expect(shown).to_contain_text("syncClaim", timeout=PATIENCE_MS)
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"step=\d+\.1&seq=\d+$|seq=\d+&step=\d+\.1$"))
    expect(spine.locator(".spine button").first).to_have_attribute("aria-current", "step")
    stage = page.get_by_role("region", name="Step")
    expect(stage.get_by_role("heading", level=2)).to_contain_text("syncClaim")
    refused = stage.get_by_role("listitem").filter(has_text="the object has been modified")
    expect(refused).to_contain_text("spec.volumeName")
    page.keyboard.press("ArrowRight")
    expect(stage.get_by_role("heading", level=2)).to_contain_text("syncVolume")
    memory = page.get_by_role("complementary", name="Code and memory")
    expect(memory).to_contain_text("claimQueue")
    expect(memory.locator(".changed")).to_contain_text("shop/orders")
    page.reload()
    expect(stage.get_by_role("heading", level=2)).to_contain_text("syncVolume", timeout=PATIENCE_MS)
