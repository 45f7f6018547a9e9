"""Inside: the syncs of a claim, step by step, and where they lead."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run

DEMOS = Path(__file__).parents[3] / "scenarios"


def test_keys_lead_through_the_steps_of_a_claim(page: Page) -> None:
    run = finished_run(page, "inside", DEMOS.joinpath("half-bound.yaml").read_bytes())
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


def test_steps_ahead_name_no_object(page: Page) -> None:
    run = finished_run(page, "ahead", DEMOS.joinpath("wrong-fs-type.yaml").read_bytes())
    page.goto(f"/runs/{run}/inside/volumes/?seq=2&pod=default/reports")
    stage = page.get_by_role("region", name="Step")
    expect(stage).to_contain_text("The first step is at", timeout=PATIENCE_MS)
    spine = page.locator(".spine")
    adds = spine.get_by_role("button").filter(has_text="populator")
    expect(adds.first).to_have_text("populator0.100")
    stage.get_by_role("button", name="Next").click()
    expect(spine.locator("[aria-current=step]")).to_contain_text("syncVolume")
    adds.first.click()
    expect(adds.first).to_contain_text("adds reports")


def test_times_of_versions_stand_apart(page: Page) -> None:
    run = finished_run(page, "apart", DEMOS.joinpath("half-bound.yaml").read_bytes())
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"/runs/{run}/inside/volumes/?claim=shop/orders")
    heads = page.locator("table.vers thead th")
    expect(heads.nth(2)).to_be_visible(timeout=PATIENCE_MS)
    hidden = "heads => heads.filter(({scrollWidth, clientWidth}) => scrollWidth > clientWidth + 1)"
    cut = heads.evaluate_all(f"heads => ({hidden})(heads).map(({{className}}) => className)")
    assert [name for name in cut if name != "cut"] == []
