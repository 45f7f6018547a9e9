"""A cluster is brought, looked at, forked and compared without a pointer."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.e2e.stories import cluster_file, finished_run, node, pod

_BROUGHT = Path(__file__).parents[1] / "data" / "prod-eu.yaml"
_MOST_STOPS = 150


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until *wanted* has the focus."""
    expect(wanted).to_be_visible()
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{_MOST_STOPS} times Tab do not reach {wanted}")


def press(page: Page, wanted: Locator) -> None:
    """Go to a link or button by Tab, and press it."""
    tab_to(page, wanted)
    page.keyboard.press("Enter")


def test_from_upload_to_comparison_by_keys(page: Page) -> None:
    page.goto("/scenarios/upload/")
    with page.expect_file_chooser() as chooser:
        tab_to(page, page.locator("input[type=file]"))
        page.keyboard.press("Space")
    chooser.value.set_files(_BROUGHT)
    press(page, page.get_by_role("button", name="Import files"))
    press(page, page.locator("a[data-page=triage]"))
    expect(page.locator("main.triage[aria-busy=false]")).to_be_visible()
    run = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    press(page, page.get_by_role("article").first.locator("a[href*='/pods/']").first)
    expect(page.locator("main.podpage")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator("section.why .sentence")).to_be_visible()
    press(page, page.locator("#fork-here"))
    press(page, page.locator("#fork-make"))
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"))
    press(page, page.locator("a[data-page=compare]"))
    press(page, page.get_by_role("link", name=re.compile(f"^#{run} ")))
    expect(page).to_have_url(re.compile(rf"with={run}"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_tiles_are_one_stop_with_arrow_keys(page: Page) -> None:
    run = _two_nodes(page)
    page.goto(f"/runs/{run}/")
    tiles = page.locator("button.tile[data-pod]")
    expect(tiles).to_have_count(4)
    expect(page.locator("button.tile[tabindex='0']")).to_have_count(1)
    page.locator("button.tile[tabindex='0']").focus()
    first = _focused(page)
    page.keyboard.press("ArrowRight")
    second = _focused(page)
    assert first != second
    expect(page.locator("button.tile[tabindex='0']")).to_have_attribute("data-pod", second)
    page.keyboard.press("ArrowLeft")
    assert _focused(page) == first
    page.keyboard.press("Enter")
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text(first.removeprefix("pod/"))


def _focused(page: Page) -> str:
    return page.evaluate("document.activeElement.dataset.pod")


def _two_nodes(page: Page) -> int:
    """A run with two pods on each of two nodes."""
    nodes = [node("left", cpu="2"), node("right", cpu="2")]
    pods = [pod(f"web-{i}", cpu="900m") for i in range(4)]
    return finished_run(page, "tiles", cluster_file("tiles", *nodes, *pods))


def test_a_click_on_an_event_goes_there(page: Page) -> None:
    run = _two_nodes(page)
    page.goto(f"/runs/{run}/")
    row = page.locator("table.ev tbody tr").nth(3)
    seq = row.get_attribute("data-seq")
    row.locator("td").last.click()
    expect(page.get_by_label("Sequence number")).to_have_value(str(seq))
    expect(page.get_by_text("Viewing the past")).to_be_visible()
