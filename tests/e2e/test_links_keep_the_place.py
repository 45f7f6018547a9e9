"""Whichever way leads from page to page, the event shown and the selection come along."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import (
    PATIENCE_MS,
    finished_board,
    finished_run,
    get_json,
    one_pod_too_many,
    shown_seq,
)

TABS = ("Board", "Inside", "State machines", "Pods", "Volumes", "Nodes", "Timeline", "Compare")


def past(page: Page) -> None:
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)


def test_every_tab_keeps_the_instant_and_the_selection(page: Page) -> None:
    run = finished_run(page, "tabs", one_pod_too_many("tabs"))
    page.goto(f"/runs/{run}/?seq=9&pod=shop/big-1")
    for name in TABS[1:] + TABS[:1]:
        past(page)
        page.get_by_role("navigation", name="Run").get_by_role("link", name=name).click()
        expect(page).to_have_url(re.compile(r"\?pod=shop/big-1&seq=9$"))
        expect(page.get_by_label("Sequence number")).to_have_value("9", timeout=PATIENCE_MS)
    heading = page.get_by_role("complementary", name="Selected pod").get_by_role("heading", level=2)
    expect(heading).to_contain_text("big-1")


def test_a_step_takes_the_tabs_along(page: Page) -> None:
    run = finished_board(page, "step", one_pod_too_many("step"))
    tab = page.get_by_role("navigation", name="Run").get_by_role("link", name="Nodes")
    expect(tab).to_have_attribute("href", f"/runs/{run}/nodes/")
    newest = shown_seq(page)
    page.get_by_role("button", name="Step one event back").click()
    past(page)
    expect(tab).to_have_attribute("href", re.compile(rf"seq={newest - 1}$"))


def test_the_timeline_shows_transport_and_instant(page: Page) -> None:
    run = finished_run(page, "transport", one_pod_too_many("transport"))
    page.goto(f"/runs/{run}/?seq=9")
    past(page)
    page.get_by_role("link", name="Open timeline").click()
    past(page)
    page.get_by_role("button", name="As a table").click()
    rows = page.locator("table.timeline tbody tr")
    expect(rows.first.get_by_role("cell").first).to_have_text("9", timeout=PATIENCE_MS)
    expect(rows).to_have_count(9)
    page.get_by_role("button", name="Step one event", exact=True).click()
    expect(rows).to_have_count(10)
    rows.nth(5).get_by_role("link").first.click()
    expect(page.get_by_label("Sequence number")).to_have_value("5")
    expect(rows).to_have_count(5)
    page.get_by_role("button", name="Show later events").click()
    expect(page.locator("tr.later").last.get_by_role("cell").first).to_have_text("6")
    expect(page.get_by_role("link", name="CSV")).to_have_attribute("href", re.compile("before=6"))
    page.go_back()
    expect(page.get_by_label("Sequence number")).to_have_value("10")


def test_the_timeline_stops_offering_more_at_its_end(page: Page) -> None:
    run = finished_run(page, "more", one_pod_too_many("more"))
    # A page of events exactly as long as what there is.
    page.route(
        "**/events/?*",
        lambda route: route.continue_(url=re.sub(r"limit=200\b", "limit=7", route.request.url)),
    )
    page.goto(f"/runs/{run}/timeline/?as=table&seq=7")
    expect(page.get_by_text("7 shown")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Next")).to_have_count(0)
    page.goto(f"/runs/{run}/timeline/?as=table&seq=8")
    page.get_by_role("button", name="Next").click(timeout=PATIENCE_MS)
    expect(page.get_by_text("page 2, 1 shown")).to_be_visible()
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("7 shown")).to_be_visible()


def test_a_fork_begins_where_one_steps_to(page: Page, site: Site) -> None:
    run = finished_run(page, "fork-step", one_pod_too_many("fork-step"))
    newest = get_json(f"{site.address}api/v1/runs/{run}/")["head"]
    page.goto(f"/runs/{run}/timeline/?pod=shop/big-1")
    page.get_by_role("button", name="Step one event back").click(timeout=PATIENCE_MS)
    past(page)
    page.get_by_role("button", name="Fork here").click()
    form = page.get_by_role("dialog", name="Fork here")
    expect(form).to_contain_text(f"after event {newest - 1}")
    form.get_by_role("button", name="Create fork").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(r"/runs/\d+/timeline/\?pod=shop/big-1$"))
    fork = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    assert get_json(f"{site.address}api/v1/runs/{fork}/")["forked_seq"] == newest - 1


def test_the_manifest_is_a_page_of_the_instant(page: Page) -> None:
    run = finished_run(page, "manifest", one_pod_too_many("manifest"))
    page.goto(f"/runs/{run}/pods/shop/big-0/?seq=7")
    past(page)
    page.get_by_role("link", name="Manifest").click()
    expect(page).to_have_url(f"/runs/{run}/objects/pod/shop/big-0/?pod=shop/big-0&seq=7")
    text = page.get_by_label("Manifest of pod/shop/big-0")
    expect(text).to_contain_text("cpu: 1500m", timeout=PATIENCE_MS)
    expect(text).not_to_contain_text("nodeName")
    page.get_by_role("button", name="Jump to newest").click()
    expect(text).to_contain_text("nodeName: small", timeout=PATIENCE_MS)


def test_connect_leads_back_to_the_instant(page: Page) -> None:
    run = finished_run(page, "connect", one_pod_too_many("connect"))
    page.goto(f"/runs/{run}/?seq=9&pod=shop/big-1")
    past(page)
    page.get_by_role("link", name="Connect").click()
    page.get_by_role("link", name="Agreement").click()
    page.get_by_role("link", name="Board").click()
    expect(page).to_have_url(re.compile(r"\?pod=shop/big-1&seq=9$"))


def test_list_filters_outlive_a_visit_to_an_object(page: Page) -> None:
    run = finished_run(page, "filters", one_pod_too_many("filters"))
    page.goto(f"/runs/{run}/pods/")
    page.get_by_placeholder("shop/web").fill("big")
    page.get_by_label("State").select_option("bound")
    page.get_by_role("link", name="shop/big-").first.click()
    expect(page.get_by_role("region", name="Life of the pod")).to_be_visible(timeout=PATIENCE_MS)
    page.go_back()
    expect(page.get_by_placeholder("shop/web")).to_have_value("big", timeout=PATIENCE_MS)
    expect(page.get_by_label("State")).to_have_value("bound")
    expect(page.get_by_text("2 found")).to_be_visible()
    page.goto(f"/runs/{run}/nodes/?name=nowhere&show=stuck")
    expect(page.get_by_text("0 found")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_label("Show")).to_have_value("stuck")


def test_search_among_volumes_outlives_a_reload(page: Page) -> None:
    run = finished_run(page, "find", one_pod_too_many("find"))
    page.goto(f"/runs/{run}/volumes/")
    page.get_by_role("button", name="Broken").click(timeout=PATIENCE_MS)
    page.get_by_placeholder("find").fill("data")
    page.reload()
    expect(page.get_by_placeholder("find")).to_have_value("data", timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Broken")).to_have_attribute("aria-pressed", "true")
