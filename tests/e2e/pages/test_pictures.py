"""Pictures of a page as files: SVG where all of it can be drawn so, PNG of everything."""

from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many

_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = "{http://www.w3.org/2000/svg}"


def saved(page: Page, name: str, kind: str) -> tuple[str, bytes]:
    """The name and the content of the file that the dialog saves."""
    page.get_by_role("button", name="Save a picture", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save {name} as {kind}", exact=True).click()
    page.keyboard.press("Escape")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_a_machine_is_saved_with_its_place(page: Page) -> None:
    run = finished_run(page, "pictures", one_pod_too_many("pictures"))
    page.goto(f"/runs/{run}/machines/?pod=shop/big-0&seq=5")
    title = page.get_by_role("heading", name="Scheduling queue")
    expect(title).to_be_visible(timeout=PATIENCE_MS)
    name, content = saved(page, "Scheduling queue", "SVG")
    assert name == f"run-{run}-scheduling-queue-5.svg"
    drawing = ElementTree.fromstring(content)
    texts = ["".join(each.itertext()).strip() for each in drawing.iter(f"{_SVG}text")]
    assert texts[-2].startswith(f"pictures · run {run} · State machines · event 5 at ")
    assert texts[-1].endswith(f"/runs/{run}/machines/?pod=shop/big-0&seq=5")
    assert "Unschedulable" in texts
    # Nothing of the page is needed to draw it.
    assert not [each for each in drawing.iter() if each.get("class") or each.tag == f"{_SVG}use"]
    assert b"var(--" not in content
    assert "Inter" in str(drawing.find(f"{_SVG}g[@font-family]").attrib["font-family"])  # type: ignore[union-attr]


def test_lanes_of_time_are_saved_as_pixels(page: Page) -> None:
    run = finished_run(page, "pictures-lanes", one_pod_too_many("pictures-lanes"))
    page.goto(f"/runs/{run}/timeline/")
    expect(page.locator(".tlcanvas")).to_be_visible(timeout=PATIENCE_MS)
    name, content = saved(page, "Lanes of time", "PNG")
    assert name.startswith(f"run-{run}-lanes-of-time-")
    assert content.startswith(_PNG)
    width = int.from_bytes(content[16:20], "big")
    assert width >= 2 * 900
    page.get_by_role("button", name="Save a picture", exact=True).click()
    expect(page.get_by_role("button", name="Save Lanes of time as SVG")).to_have_count(0)


def test_paper_says_where_a_board_is_from(page: Page) -> None:
    run = finished_run(page, "pictures-paper", one_pod_too_many("pictures-paper"))
    page.goto(f"/runs/{run}/?seq=5")
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    try:
        caption = page.locator(".printcaption")
        expect(caption).to_contain_text(f"pictures-paper · run {run} · Board · event 5 at")
        expect(caption).to_contain_text(f"/runs/{run}/?seq=5")
        expect(page.get_by_role("region", name="Playback")).to_be_hidden()
        assert page.locator("html").get_attribute("data-theme") == "light"
    finally:
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
