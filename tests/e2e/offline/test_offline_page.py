"""A run as one HTML file, opened from the disk in a browser without a network."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize, expect

from kscope.program.main import main
from tests.e2e.stories import PATIENCE_MS

ROOM = Path(__file__).resolve().parents[3]
AXE = ROOM / "node_modules" / "axe-core" / "axe.min.js"
PLACES = (
    *("#/", "#/machines/", "#/pods/", "#/pods/ml/train-0/", "#/pods/ml/train-0/?seq=900"),
    *("#/volumes/", "#/nodes/", "#/nodes/node-b3/", "#/timeline/?pod=shop/ledger-2"),
    *("#/timeline/?as=table", "#/inside/scheduler/", "#/inside/scheduler/?cycle=20&step=filter"),
    *("#/inside/volumes/?claim=ci/archive", "#/film/", "#/film/?claim=ci/archive"),
)
OF_BROUGHT = ("#/first-look/", "#/triage/")
TITLE = "</script><img src=x onerror=alert(1)>"


@dataclass
class Watched:
    """A page, what it asked for beside its own file, and what went wrong on it."""

    page: Page
    file: Path
    asked: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])

    def open(self, place: str = "") -> Page:
        """Show a place of the file, as somebody does who opens it there."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.file.as_uri()}{place}")
        return self.page

    def hear_request(self, request: Request) -> None:
        if not request.url.startswith(("data:", "about:", self.file.as_uri())):
            self.asked.append(request.url)

    def hear_words(self, told: ConsoleMessage) -> None:
        self.wrong.append(told.text)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo that has most, as `kscope export` writes it; its title would like to be markup."""
    folder = tmp_path_factory.mktemp("offline")
    text = (ROOM / "scenarios" / "checkout-surge.yaml").read_text()
    named = text.replace("title: Checkout surge", f'title: "{TITLE}"')
    assert named != text
    scenario, target = folder / "surge.yaml", folder / "surge.html"
    scenario.write_text(named)
    assert main(["export", str(scenario), str(target), "--quiet"]) == 0
    return target


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster that was brought, with what is stuck in it."""
    target = tmp_path_factory.mktemp("sick") / "sick.html"
    assert main(["export", str(ROOM / "scenarios/sick-cluster.yaml"), str(target), "--quiet"]) == 0
    return target


@pytest.fixture
def watched(browser: Browser, file: Path) -> Iterator[Watched]:
    """The file of the demo: see `watching`."""
    with watching(browser, file) as watched:
        yield watched


@pytest.fixture
def brought(browser: Browser, sick: Path) -> Iterator[Watched]:
    """The file of a cluster that was brought: see `watching`."""
    with watching(browser, sick) as watched:
        yield watched


@contextmanager
def watching(browser: Browser, file: Path) -> Iterator[Watched]:
    """The file in a browser that has no network; whatever it asks for or complains of fails the test."""
    window: ViewportSize = {"width": 1440, "height": 900}
    with closing(browser.new_context(viewport=window, offline=True)) as context:
        context.set_default_timeout(PATIENCE_MS)
        watched = Watched(context.new_page(), file)
        watched.page.on("request", watched.hear_request)
        watched.page.on("console", watched.hear_words)
        watched.page.on("pageerror", lambda error: watched.wrong.append(str(error)))
        yield watched
        assert (watched.asked, watched.wrong) == ([], [])


def seq(page: Page) -> int:
    return int(page.locator("#seq").input_value())


def go_to(page: Page, number: int) -> None:
    page.locator("#seq").fill(str(number))
    page.locator("#seq").press("Enter")
    expect(page.locator("#seq")).to_have_value(str(number))


def test_the_file_plays_from_its_beginning(watched: Watched) -> None:
    page = watched.open()
    expect(page.locator(".topbar .runname")).to_have_text(TITLE)
    expect(page.locator("#connection")).to_have_text("Recorded")
    last = seq(page)
    page.get_by_role("button", name="100×").click()
    page.get_by_role("button", name="Play from the beginning").click()
    expect(page.locator(".past-banner")).to_contain_text("Viewing the past")
    met = {seq(page) for _ in range(5) if page.wait_for_timeout(60) is None}
    assert len(met) > 1
    expect(page.locator(".past-banner")).to_have_count(0)
    assert seq(page) == last


def test_seeking_and_stepping_fold_recorded_events(watched: Watched) -> None:
    page = watched.open()
    newest = (
        page.locator("main.board .foot").get_by_role("link").filter(has_text=re.compile(r"^\d+$"))
    )
    go_to(page, 640)
    expect(newest.first).to_have_text("640")
    lanes = page.locator(".lanes").inner_text()
    for name, number in (
        ("Step one event", 641),
        ("Step one event back", 640),
        ("Step one event back", 639),
        ("Step one event", 640),
    ):
        page.get_by_role("button", name=name, exact=True).click()
        expect(newest.first).to_have_text(str(number))
    assert page.locator(".lanes").inner_text() == lanes
    assert "seq=640" in page.url
    page.locator("body").press("End")
    expect(page.locator(".past-banner")).to_have_count(0)
    expect(newest.first).to_have_text("1973")


def test_an_address_opens_its_page_and_event(watched: Watched) -> None:
    page = watched.open("#/pods/?seq=900&state=backoff")
    expect(page.locator("#seq")).to_have_value("900")
    states = page.locator("table.pods tbody .state")
    expect(states.first).to_contain_text("backoff")
    assert all("backoff" in text for text in states.all_inner_texts())
    page.locator("table.pods tbody a").first.click()
    expect(page.locator("main.podpage")).to_be_visible()
    expect(page.locator("#seq")).to_have_value("900")
    page.go_back()
    expect(states.first).to_contain_text("backoff")


def test_a_pod_says_why_it_waits(watched: Watched) -> None:
    page = watched.open("#/pods/ml/train-0/")
    expect(page.locator("main.podpage h1")).to_have_text("ml/train-0")
    expect(page.locator("main.podpage")).to_contain_text("Fits none of 12 nodes")
    verdicts = page.locator(".verdicts table tbody tr")
    expect(verdicts).to_have_count(12)
    why = page.locator("section.why")
    expect(why.locator(".sentence")).to_contain_text("nvidia.com/gpu")
    expect(why.locator(".note")).to_contain_text("at event 1,973")
    go_to(page, 1500)
    expect(why.locator(".ask")).to_contain_text("An answer for this event takes an engine")
    why.get_by_role("button", name="Go to the end").click()
    expect(why.locator(".sentence")).to_contain_text("nvidia.com/gpu")


def test_what_did_not_wait_has_no_answer(watched: Watched) -> None:
    page = watched.open("#/pods/shop/web-0/")
    expect(page.locator("section.why")).to_contain_text("Asking about this object takes an engine")
    expect(page.get_by_role("button", name="Ask why")).to_have_count(0)


def test_a_control_that_changes_says_why_not(watched: Watched) -> None:
    page = watched.open("#/nodes/node-a1/")
    cordon = page.get_by_role("button", name="Cordon")
    expect(cordon).to_be_disabled()
    expect(cordon).to_have_attribute("title", re.compile("open it in kscope"))
    expect(page.get_by_text("Change", exact=True)).to_have_count(0)


def test_the_inside_of_a_cycle_is_stepped_through(watched: Watched) -> None:
    page = watched.open("#/inside/scheduler/")
    steps = page.locator("main")
    expect(steps).to_contain_text("Cycle 323")
    expect(steps).to_contain_text("Evaluator.Preempt")
    page.locator("body").press("ArrowLeft")
    expect(page.get_by_role("heading", name="Filter", exact=True)).to_be_visible()
    expect(steps).to_contain_text("nvidia.com/gpu")
    page.locator("body").press("[")
    expect(steps).to_contain_text("Cycle 322")
    assert "cycle=322" in page.url


def test_another_amount_takes_an_engine(watched: Watched) -> None:
    page = watched.open("#/inside/scheduler/?cycle=22&step=score")
    expect(page.locator(".whatif")).to_contain_text("takes an engine")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_the_inside_of_a_claim_is_recorded(watched: Watched) -> None:
    page = watched.open("#/inside/volumes/?claim=ci/archive")
    expect(page.locator("main")).to_contain_text("syncBoundClaim")
    expect(page.locator("main")).to_contain_text("its volume does not exist any more")
    page = watched.open("#/inside/volumes/?claim=ci/none")
    expect(page.locator("main")).to_contain_text("does not hold the inside of this object")


def test_slow_motion_plays_to_its_end(watched: Watched) -> None:
    page = watched.open("#/film/?cycle=22")
    expect(page.locator("#film")).to_contain_text("Slow motion of cycle 22")
    expect(page).to_have_url(re.compile("step=pop"))
    page.locator("body").press("End")
    expect(page).not_to_have_url(re.compile("step=pop"))
    last = page.url
    page.locator("body").press("Home")
    expect(page).to_have_url(re.compile("step=pop"))
    page.locator("body").press("4")
    page.locator("body").press("Space")
    expect(page).to_have_url(f"{last}&speed=0.1")


def test_slow_motion_turns_to_an_earlier_attempt(watched: Watched) -> None:
    page = watched.open("#/film/?pod=ml/train-0")
    expect(page.locator("#film")).to_contain_text("Slow motion of cycle 323")
    page.locator("body").press("[")
    expect(page.locator("#film")).not_to_contain_text("Slow motion of cycle 323")
    expect(page.locator("#film")).to_contain_text("ml/train-0")


def test_the_first_look_leads_to_the_triage(brought: Watched) -> None:
    page = brought.open("#/first-look/")
    expect(page.locator("main.firstlook h1")).to_contain_text("4 nodes, 18 pods")
    expect(page.locator("main.firstlook")).to_contain_text("Assumed")
    rows = page.locator(".fcauses li")
    named = rows.nth(1).locator(".said").inner_text()
    assert str(brought.file.parent) not in page.locator("main").inner_text()
    rows.nth(1).get_by_role("link").click()
    expect(page.locator("#cause-1")).to_contain_text(named[:60])
    assert page.url.endswith("#/triage/#cause-1")


def test_the_triage_has_the_changes_that_were_tried(brought: Watched) -> None:
    page = brought.open("#/triage/")
    expect(page.locator("#triage")).to_contain_text("Changes were tried")
    expect(page.locator(".tabs .tcount")).to_have_text(re.compile(r"^\d+$"))
    forks = page.get_by_role("button", name="Open fork")
    expect(forks.first).to_be_disabled()
    expect(forks.first).to_have_attribute("title", re.compile("open the run in kscope"))
    page.get_by_label("Find the cause of a pod, claim or node").fill("nothing-of-it")
    page.locator("#find").press("Enter")
    expect(page.get_by_text("No cause holds")).to_be_visible()


def test_a_page_that_takes_an_engine_is_named(watched: Watched) -> None:
    page = watched.open("#/pods/ml/train-0/")
    page.locator(".pagehead").get_by_role("link", name="Manifest").click()
    expect(page.locator("main.elsewhere")).to_contain_text("Manifest takes an engine")
    page.get_by_role("button", name="Back").click()
    expect(page.locator("main.podpage h1")).to_have_text("ml/train-0")


def test_state_machines_follow_the_pod(watched: Watched) -> None:
    page = watched.open("#/machines/?pod=shop/ledger-2&seq=1200")
    expect(page.locator("#seq")).to_have_value("1200")
    expect(page.locator("#machines")).to_contain_text("ledger-2")
    expect(page.locator("#machines svg").first).to_be_visible()


def test_lanes_of_the_timeline_are_laid_out(watched: Watched) -> None:
    page = watched.open("#/timeline/")
    lanes = page.locator("main.tlpage")
    expect(lanes).to_contain_text("ml/train")
    expect(lanes.locator(".longest li").first).to_contain_text("ci/archive-1")
    expect(lanes.get_by_text("node-c3")).to_be_visible()
    page.get_by_label("Find an object").fill("ledger-2")
    expect(lanes.get_by_text("node-c3")).to_have_count(0)


def test_a_chosen_pod_shows_what_it_waited_for(watched: Watched) -> None:
    page = watched.open("#/timeline/?pod=shop/ledger-2")
    lanes = page.locator("main.tlpage")
    expect(lanes).to_contain_text("Path of shop/ledger-2")
    expect(lanes.locator(".tlside .segs li").first).to_be_visible()
    go_to(page, 900)
    expect(lanes.locator(".tlside")).to_contain_text("until another event, takes an engine")


def test_events_are_filtered_in_the_file(watched: Watched) -> None:
    page = watched.open("#/timeline/?as=table")
    expect(page.locator("table.timeline tbody tr")).to_have_count(200)
    page.get_by_label("Kind").fill("Preempted")
    page.get_by_role("button", name="Apply filters").click()
    kinds = page.locator("table.timeline tbody tr td:last-child")
    expect(kinds.first).to_contain_text("Preempted")
    assert all("Preempted" in text for text in kinds.all_inner_texts())


@pytest.mark.parametrize(
    "place",
    [
        *("#/", "#/machines/", "#/pods/", "#/pods/ml/train-0/", "#/volumes/", "#/nodes/"),
        *("#/inside/scheduler/", "#/inside/volumes/"),
    ],
)
def test_pages_fit_a_narrow_window(watched: Watched, place: str) -> None:
    watched.page.set_viewport_size({"width": 390, "height": 844})
    page = watched.open(place)
    expect(page.locator("#seq")).to_have_value("1973")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("place", OF_BROUGHT)
def test_looks_fit_a_narrow_window(brought: Watched, place: str) -> None:
    brought.page.set_viewport_size({"width": 390, "height": 844})
    page = brought.open(place)
    expect(page.locator("main h1")).to_contain_text(re.compile(r"\d"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_look_breaks_a_rule_of_axe(brought: Watched, scheme: Literal["light", "dark"]) -> None:
    brought.page.emulate_media(color_scheme=scheme)
    for place in OF_BROUGHT:
        page = brought.open(place)
        expect(page.locator("main h1")).to_contain_text(re.compile(r"\d"))
        assert broken_rules(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_place_breaks_a_rule_of_axe(watched: Watched, scheme: Literal["light", "dark"]) -> None:
    watched.page.emulate_media(color_scheme=scheme)
    for place in PLACES:
        page = watched.open(place)
        expect(page.get_by_text("Reading", exact=False)).to_have_count(0)
        assert (place, broken_rules(page)) == (place, [])


def broken_rules(page: Page) -> list[tuple[str, str]]:
    """The rules of axe that the page breaks, each with an element."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]
