"""A sick cluster is uploaded, and what holds it is seen without a click."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.stories import open_board, upload

INCIDENTS = Path(__file__).parents[2] / "conformance" / "diagnosis" / "incidents"


def test_an_incident_shows_its_cause_at_once(page: Page) -> None:
    upload(page, "disk-pressure", (INCIDENTS / "disk-pressure.yaml").read_bytes())
    expect(page).to_have_url(re.compile(r"/runs/\d+/first-look/$"))
    stuck = page.get_by_role("region", name="What is stuck")
    expect(stuck).to_contain_text("node.kubernetes.io/disk-pressure")
    run = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    assert page.request.get(f"/api/v1/runs/{run}/").json()["standing"]

    _begin_again(page, run)
    _play_on(page)


def _begin_again(page: Page, run: int) -> None:
    """Nothing was made of the run, so another one takes its place."""
    page.get_by_role("combobox", name="Kubernetes version").select_option("v1.20")
    page.get_by_role("button", name="Begin again with these").click()
    expect(page.locator(".vbig")).to_have_text("v1.20")
    assert page.request.get(f"/api/v1/runs/{run}/").status == 404


def _play_on(page: Page) -> None:
    run = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    page.get_by_role("button", name="Play on").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/$"))
    open_board(page, run)
    assert not page.request.get(f"/api/v1/runs/{run}/").json()["standing"]
