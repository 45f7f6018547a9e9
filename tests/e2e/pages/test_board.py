"""The board: transport, the past, the keyboard, both themes, a narrow screen."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site, watched_page
from tests.e2e.stories import (
    PATIENCE_MS,
    cluster_file,
    finish,
    finished_board,
    finished_run,
    node,
    one_pod_every_ten_seconds,
    one_pod_too_many,
    playing_run,
    pod,
    pod_button,
    shown_seq,
    stand_still,
    start,
)


def test_after_pause_a_step_adds_one_event(page: Page) -> None:
    run = start(page, "stepping", one_pod_every_ten_seconds("stepping"))
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    before = stand_still(page, run)
    page.wait_for_timeout(700)
    assert shown_seq(page) == before
    page.get_by_role("button", name="Step one event", exact=True).click()
    page.wait_for_function(
        "before => Number(document.querySelector('#seq').value) > before", arg=before
    )
    page.get_by_role("button", name="Step one scheduling cycle").click()
    page.wait_for_function(
        "before => Number(document.querySelector('#seq').value) > before + 1", arg=before
    )
    expect(page.get_by_role("region", name="Newest events")).to_contain_text("AttemptStarted")


def test_an_unschedulable_pod_shows_what_it_lacks(page: Page) -> None:
    finished_board(page, "too-many", one_pod_too_many("too-many"))
    pod_button(page, "big-").click()
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector.locator(".blocker .say")).to_contain_text(re.compile("cpu", re.IGNORECASE))
    expect(inspector).to_contain_text("500m")


def test_a_nominated_pod_shows_its_last_attempt(page: Page) -> None:
    low, urgent = pod("low", cpu="3"), pod("urgent", cpu="3")
    urgent["spec"]["priority"] = 100
    steps = [{"at": "10s", "create": urgent}]
    run = finished_run(page, "leaving", cluster_file("leaving", node("only"), low, steps=steps))
    asked = f"/api/v1/runs/{run}/events/?kind=PodNominated&limit=1"
    seq = page.request.get(asked).json()["items"][0]["seq"]
    page.goto(f"/runs/{run}/?seq={seq}&pod=shop/urgent")
    card = page.get_by_role("complementary", name="Selected pod").locator(".blocker")
    expect(card).to_contain_text("Nominated to only", timeout=PATIENCE_MS)
    expect(card).to_contain_text("As of attempt 1")


def test_scrubbing_shows_the_past_and_leads_back(page: Page) -> None:
    finished_board(page, "scrubbing", one_pod_too_many("scrubbing"))
    newest = shown_seq(page)
    field = page.get_by_label("Sequence number")
    field.fill("5")
    field.press("Enter")
    banner = page.get_by_role("status").filter(has_text="Viewing the past")
    expect(banner).to_be_visible()
    expect(field).to_have_value("5")
    page.reload()
    expect(banner).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_label("Sequence number")).to_have_value("5")
    page.get_by_role("button", name="Jump to newest").click()
    expect(banner).to_be_hidden()
    expect(field).to_have_value(str(newest))


def test_dragging_the_scrubber_leaves_the_newest_event(page: Page) -> None:
    start(page, "dragging", one_pod_every_ten_seconds("dragging"))
    page.wait_for_function(
        "() => Number(document.querySelector('#seq')?.value) > 60", timeout=PATIENCE_MS
    )
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Position in the run").evaluate(
        "input => { input.value = input.max / 2;"
        " input.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(page.get_by_text("Viewing the past")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_text("Viewing the past")).to_be_hidden()


def test_arrow_keys_move_the_slider_between_events(page: Page) -> None:
    finished_board(page, "slider", one_pod_too_many("slider"))
    newest = shown_seq(page)
    slider = page.get_by_label("Position in the run")
    field = page.get_by_label("Sequence number")
    slider.focus()
    for expected in (newest - 1, newest - 2, newest - 3):
        slider.press("ArrowLeft")
        expect(field).to_have_value(str(expected))
    slider.press("ArrowRight")
    expect(field).to_have_value(str(newest - 2))
    slider.press("Home")
    expect(field).to_have_value("0")
    slider.press("ArrowUp")
    expect(field).to_have_value("1")
    for _ in range(12):
        slider.press("PageUp")
    expect(field).to_have_value(str(newest))


def test_the_time_shown_leads_to_the_same_event(page: Page) -> None:
    run = finished_run(page, "typed", one_pod_every_ten_seconds("typed"))
    page.goto(f"/runs/{run}/?seq=40")
    field = page.get_by_label("Virtual time in seconds")
    expect(page.get_by_label("Sequence number")).to_have_value("40", timeout=PATIENCE_MS)
    shown = field.input_value()
    page.keyboard.press("Home")
    expect(field).to_have_value("0.000")
    field.fill(shown)
    field.press("Enter")
    expect(field).to_have_value(shown)
    field.fill("1m")
    field.press("Enter")
    expect(field).to_have_value(re.compile(r"60\.\d+|5\d\.\d+"))
    field.fill("soon")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("“soon” is not a time")


def test_play_on_a_finished_run_reports_nothing_due(page: Page) -> None:
    finished_board(page, "done", one_pod_too_many("done"))
    page.get_by_role("button", name="Play, the run is finished").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing more is due")


def test_a_reload_comes_back_to_the_selected_pod(page: Page) -> None:
    finished_board(page, "reload", one_pod_too_many("reload"))
    pod_button(page, "big-").click()
    heading = page.get_by_role("complementary", name="Selected pod").get_by_role("heading", level=2)
    named = heading.inner_text()
    page.reload()
    expect(heading).to_have_text(named, timeout=PATIENCE_MS, use_inner_text=True)


def test_every_key_of_the_transport_works(page: Page) -> None:
    run = start(page, "keys", one_pod_every_ten_seconds("keys"))
    page.wait_for_function(
        "() => Number(document.querySelector('#seq')?.value) > 10", timeout=PATIENCE_MS
    )
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    before = stand_still(page, run)
    page.keyboard.press(",")
    expect(page.get_by_text("Viewing the past")).to_be_visible()
    assert shown_seq(page) == before - 1
    page.keyboard.press("Home")
    page.keyboard.press(".")
    expect(page.get_by_label("Sequence number")).to_have_value("1")
    page.keyboard.press("End")
    expect(page.get_by_text("Viewing the past")).to_be_hidden()
    page.keyboard.press(".")
    page.wait_for_function(
        "before => Number(document.querySelector('#seq').value) > before", arg=before
    )


def test_the_theme_is_kept_from_page_to_page(page: Page) -> None:
    run = finished_board(page, "theme", one_pod_too_many("theme"))
    page.get_by_role("button", name=re.compile("switch to dark")).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    light = "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.goto(f"/runs/{run}/timeline/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, page: Page, site: Site) -> None:
    run = finished_run(page, "phone", one_pod_too_many("phone"))
    context = browser.new_context(base_url=site.address, viewport={"width": 390, "height": 844})
    phone = context.new_page()
    pages = ("/", f"/runs/{run}/", f"/runs/{run}/timeline/", "/scenarios/upload/", "/api/docs/")
    for path in pages:
        phone.goto(path)
        phone.wait_for_load_state("networkidle")
        width = phone.evaluate("document.scrollingElement.scrollWidth")
        assert width <= 390, f"{path} is {width} px wide"
    context.close()


def test_every_control_is_there_on_a_phone(browser: Browser, page: Page, site: Site) -> None:
    run = finished_run(page, "small", one_pod_too_many("small"))
    with watched_page(browser, site.address) as phone:
        phone.set_viewport_size({"width": 400, "height": 800})
        phone.goto(f"/runs/{run}/")
        finish(phone)
        for speed in ("1×", "10×", "100×", "max"):
            expect(phone.get_by_role("button", name=speed, exact=True)).to_be_visible()
        expect(phone.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
        expect(phone.get_by_role("button", name="Fork here")).to_be_visible()
        expect(phone.get_by_role("link", name="seed")).to_be_visible()


def test_a_demo_plays_to_its_end(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name=re.compile("Start run of")).first.click()
    expect(page.locator("main.board:not(.waiting)")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="max", exact=True).click()
    finish(page)


def test_two_playing_runs_take_turns_on_one_worker(page: Page) -> None:
    playing_run(page, "first-of-two", one_pod_every_ten_seconds("first-of-two"))
    start(page, "second-of-two", one_pod_every_ten_seconds("second-of-two"))
    page.wait_for_function(
        "() => Number(document.querySelector('#seq')?.value) > 20", timeout=PATIENCE_MS
    )
