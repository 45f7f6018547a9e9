"""The timeline as lanes: the path of a pod, arrows, zoom, search, and the instant of a click."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, cluster_file, finished_run, node, pod

SECOND = 1_000_000_000
# Whether the canvas is darker than its ground at a moment, halfway between two rows.
DARK = """
({at, start, end, width, rows}) => {
  const canvas = document.querySelector(".tlcanvas");
  const scale = canvas.width / canvas.clientWidth;
  const x = Math.round(((at - start) / (end - start)) * width * scale);
  const y = Math.round((26 + rows * 22) * scale);
  const near = canvas.getContext("2d").getImageData(x - 2, y, 5, 1).data;
  const ground = canvas.getContext("2d").getImageData(x + 60, y, 1, 1).data;
  const light = (data, i) => data[i] + data[i + 1] + data[i + 2];
  return Math.min(...[0, 4, 8, 12, 16].map((i) => light(near, i))) < light(ground, 0) / 2;
}
"""


def _with_priority(name: str, priority: int, *, cpu: str) -> dict[str, Any]:
    made = pod(name, cpu=cpu)
    made["spec"] |= {"priority": priority, "terminationGracePeriodSeconds": 5}
    return made


def _preempting() -> bytes:
    """A pod that needs the room of two others, which leave within seconds."""
    low = [_with_priority(f"low-{i}", 0, cpu="2") for i in range(2)]
    steps = [{"at": "10s", "create": _with_priority("urgent", 100, cpu="4")}]
    return cluster_file("preempting", node("only"), *low, steps=steps)


def _answer(page: Page, address: str) -> Any:
    """Open the page; returns the answer from which its path is drawn."""

    def has_path(response: Any) -> bool:
        return "/timeline/?from=" in response.url and response.ok

    with page.expect_response(has_path, timeout=PATIENCE_MS) as answered:
        page.goto(address)
    return answered.value.json()


def test_the_lanes_of_a_pod_are_read(page: Page) -> None:
    run = finished_run(page, "preempting", _preempting())
    answer = _answer(page, f"/runs/{run}/timeline/?pod=shop/urgent")
    _expect_the_path(page, answer)
    _expect_zoom(page)
    _expect_search(page)
    _expect_attempts(page)
    _expect_instants(page, answer)


def _expect_the_path(page: Page, answer: Any) -> None:
    expect(page.get_by_role("heading", name="Path of shop/urgent")).to_be_visible()
    expect(
        page.get_by_role("button", name=re.compile("^Why it took .*, grace low-"))
    ).to_be_visible()
    side = page.get_by_role("complementary", name="The same steps summed by kind")
    expect(side.get_by_role("heading", name="Why did urgent take")).to_be_visible()
    expect(side.get_by_role("button", name="grace of evicted pods")).to_be_visible()
    rows = [row["key"] for row in answer["rows"] if row["in_path"]]
    assert rows[0] == "pod/shop/urgent"
    assert set(rows[1:]) == {"pod/shop/low-0", "pod/shop/low-1"}
    keys = page.locator("[data-row]").evaluate_all("rows => rows.map(row => row.dataset.row)")
    assert [key for key in keys if key in rows][:3] == rows
    evicted = next(arrow for arrow in answer["arrows"] if arrow["word"] == "evicts")
    window = {name: answer[name] for name in ("start", "end", "width")}
    # Rows: heading, strip, the pod, its first victim.
    assert page.evaluate(DARK, {**window, "at": evicted["to_at"], "rows": 3})
    assert not page.evaluate(DARK, {**window, "at": evicted["to_at"] + SECOND // 2, "rows": 3})


def _expect_zoom(page: Page) -> None:
    length = page.get_by_label("Length of the window")
    fitted = length.inner_text()
    page.keyboard.press("w")
    expect(length).not_to_have_text(fitted)
    page.keyboard.press("f")
    expect(length).to_have_text(fitted)


def _expect_search(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("LOW-1")
    found = page.locator("[data-row]")
    expect(found).to_have_count(2)
    expect(found.last).to_have_accessible_name(re.compile("^shop/low-1 .*, running"))
    page.get_by_label("Find an object").fill("nowhere")
    expect(page.get_by_text("No row has this in its name")).to_be_visible()
    page.get_by_label("Find an object").fill("")
    page.keyboard.press("Escape")


def _expect_attempts(page: Page) -> None:
    first = page.get_by_role("button", name=re.compile(r"^1 \d.* s: no room; evicts low-"))
    expect(first).to_have_attribute("aria-expanded", "false")
    first.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^FailedScheduling at"))).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-row]:focus")).to_have_accessible_name(re.compile(r"^queue \d"))


def _expect_instants(page: Page, answer: Any) -> None:
    canvas = page.locator(".tlcanvas")
    canvas.click(position={"x": answer["width"] / 2, "y": 60})
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Why has urgent waited for")).to_be_visible()
    page.get_by_role("button", name="Components").click()
    scheduler = page.get_by_role("button", name=re.compile(r"^scheduler [\d,]+ events"))
    expect(scheduler).to_be_visible()
    page.get_by_role("button", name="As a table").click()
    expect(page.locator("table.timeline tbody tr").first).to_be_visible()
    page.get_by_role("button", name="As lanes").click()
    expect(scheduler).to_be_visible()
