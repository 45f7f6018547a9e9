"""Devices on the pages of a node and of a pod: who has each, and what kept the pod from it."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run

SCENARIO = Path(__file__).parents[3] / "scenarios" / "missing-gpu.yaml"


def test_pods_and_nodes_show_their_devices(page: Page) -> None:
    run = finished_run(page, "gpus", SCENARIO.read_bytes())
    page.goto(f"/runs/{run}/pods/default/train-1/?seq=40")
    devices = page.get_by_role("region", name="Devices", exact=True)
    expect(devices).to_contain_text("no device yet", timeout=PATIENCE_MS)
    why = devices.get_by_role("region", name="What kept the pod from each device, table")
    expect(why.get_by_role("row").filter(has_text="allocated to claim")).to_have_count(1)
    page.goto(f"/runs/{run}/pods/default/train-0/?seq=40")
    expect(devices).to_contain_text("gpu.example.com/", timeout=PATIENCE_MS)
    devices.get_by_role("link").last.click()
    table = page.get_by_role("region", name="Devices, table")
    expect(table.get_by_role("link", name="default/train-0-gpu")).to_be_visible(timeout=PATIENCE_MS)
