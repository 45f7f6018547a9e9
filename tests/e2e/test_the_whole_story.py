"""A cluster file becomes a live board; an edit in the admin is seen on it; its timeline comes out."""

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import (
    PATIENCE_MS,
    get_json,
    log_in,
    one_pod_every_ten_seconds,
    shown_seq,
    start,
    upload,
)

TAINT = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]


def test_a_taint_from_the_admin_reaches_the_board(
    page: Page, browser: Browser, site: Site, tmp_path: Path
) -> None:
    run = _upload_and_start(page)
    _see_it_run(page)

    _taint_the_node(browser, site, run)

    _see_the_pod_that_no_longer_fits(page)
    page.get_by_role("button", name="Pause").click()
    _check_the_timeline(page, site, run, tmp_path)


def _upload_and_start(page: Page) -> int:
    upload(page, "taint-story", one_pod_every_ten_seconds("taint-story"))
    page.get_by_role("button", name="Play").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+/$"))
    expect(page.locator("main.board:not(.waiting)")).to_be_visible(timeout=PATIENCE_MS)
    return int(re.findall(r"/runs/(\d+)/", page.url)[0])


def _see_it_run(page: Page) -> None:
    page.wait_for_function(
        "() => Number(document.querySelector('#seq')?.value) > 20", timeout=PATIENCE_MS
    )
    before = shown_seq(page)
    page.wait_for_function(
        "before => Number(document.querySelector('#seq').value) > before",
        arg=before,
        timeout=PATIENCE_MS,
    )
    expect(page.get_by_role("region", name="Newest events")).to_contain_text("PodBound")


def _taint_the_node(browser: Browser, site: Site, run: int) -> None:
    """In a window of its own, while the board stays open."""
    context = browser.new_context(base_url=site.address)
    admin = context.new_page()
    log_in(admin, site.password)
    admin.goto(f"/admin/scheduling/node/?run__id__exact={run}")
    admin.get_by_role("link", name="only", exact=True).first.click()
    admin.get_by_label("Taints").fill(json.dumps(TAINT))
    admin.get_by_role("button", name="Submit to the engine").click()
    expect(admin.locator(".messagelist")).to_contain_text("applied at seq", timeout=PATIENCE_MS)
    context.close()


def _see_the_pod_that_no_longer_fits(page: Page) -> None:
    lane = page.locator("section.lane").filter(has_text="Unschedulable")
    waiting = lane.locator("button.item").filter(has_text="web-").first
    expect(waiting).to_be_visible(timeout=PATIENCE_MS)
    waiting.click()
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text("dedicated", timeout=PATIENCE_MS)
    expect(inspector).to_contain_text("web-")


def _check_the_timeline(page: Page, site: Site, run: int, tmp_path: Path) -> None:
    page.get_by_role("link", name="Open timeline").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    exported = page.request.get(f"/api/v1/runs/{run}/events/export/?format=ndjson")
    assert exported.ok
    events = [json.loads(line) for line in exported.text().splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(a["at"] <= b["at"] for a, b in zip(events, events[1:], strict=False))
    by_command = [event for event in events if event["component"] == "command"]
    assert [event["object"] for event in by_command] == ["node/only"]
    tainted = by_command[0]["seq"]
    refused = [event for event in events if event["kind"] == "FailedScheduling"]
    assert refused
    assert refused[0]["seq"] > tainted
    assert "untolerated taint" in refused[0]["message"]
    assert not [e for e in events if e["kind"] == "PodAssumed" and e["seq"] > tainted]
    head = get_json(f"{site.address}api/v1/runs/{run}/")["head"]
    assert len(events) <= head


def test_the_export_link_downloads_every_event(page: Page, site: Site) -> None:
    run = start(page, "export", one_pod_every_ten_seconds("export"))
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.goto(f"/runs/{run}/timeline/?as=table")
    with page.expect_download() as download:
        page.get_by_role("link", name="NDJSON").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
