"""A page that is opened at an event never paints another one, nor on the way from one event to the next."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import PATIENCE_MS, cluster_file, finished_run, get_json, node, pod

# Written down with every change of the page and with every frame, from the first on; what is asked of
# the server is slow, what its socket brings is not.
RECORDER = """
window.painted = [];
const note = () => {
  if (!document.body) return;
  const seq = document.querySelector("#seq")?.value ?? "";
  const text = document.body.innerText;
  const selected = document.querySelector("#inspector h2")?.innerText ?? "";
  const last = window.painted.at(-1);
  if (!last || last.seq !== seq || last.text !== text) window.painted.push({seq, text, selected});
};
new MutationObserver(note).observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
const frame = () => { note(); requestAnimationFrame(frame); };
requestAnimationFrame(frame);
// An answer never overtakes what the socket brings, where that was opened.
const said = new Promise((resolve) => {
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...address) {
      super(...address);
      this.addEventListener("message", () => setTimeout(resolve, 100), {once: true});
    }
  };
});
const quick = window.fetch;
window.fetch = async (...asked) => {
  await Promise.race([said, new Promise((resolve) => setTimeout(resolve, 1500))]);
  return quick(...asked);
};
"""
LATE = "latecomer"
UNREAD = ("", "…")


@pytest.fixture(scope="module")
def story(browser: Browser, site: Site) -> dict[str, int]:
    """A finished run in which a pod, a node and the bindings come late, and the events before that."""
    steps = [
        {"at": "5s", "create": pod(f"{LATE}-pod", cpu="100m")},
        {"at": "6s", "create": node(f"{LATE}-node")},
    ]
    content = cluster_file(
        "instants", node("small"), pod("big-0", cpu="3"), pod("big-1", cpu="3"), steps=steps
    )
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    run = finished_run(page, "instants", content)
    context.close()
    events = get_json(f"{site.address}api/v1/runs/{run}/events/?limit=500")["items"]
    late = next(event["seq"] for event in events if LATE in (event["object"] or ""))
    first = next(event["seq"] for event in events if event["kind"] == "PodBound")
    return {"run": run, "before": late - 1, "early": first - 1, "bound": first}


@pytest.fixture
def recorded(fresh_page: Page) -> Page:
    """A page that writes down everything it paints."""
    fresh_page.add_init_script(RECORDER)
    return fresh_page


def painted(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("window.painted")


def shows(page: Page, seq: int) -> None:
    expect(page.get_by_label("Sequence number")).to_have_value(str(seq), timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(rf"[?&]seq={seq}$"))
    expect(page.get_by_role("button", name="Replay from here")).to_be_enabled(timeout=PATIENCE_MS)
    # Everything that is read after the state has come by then.
    page.wait_for_load_state("networkidle")


PAGES = {
    "board": "",
    "machines": "machines/",
    "pods": "pods/",
    "pod": "pods/shop/big-0/",
    "volumes": "volumes/",
    "nodes": "nodes/",
    "node": "nodes/small/",
    "timeline": "timeline/",
    "manifest": "objects/node/small/",
}


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES.keys())
def test_no_other_instant_is_painted(recorded: Page, story: dict[str, int], path: str) -> None:
    seq = story["before"]
    recorded.goto(f"/runs/{story['run']}/{path}?seq={seq}")
    shows(recorded, seq)
    frames = painted(recorded)
    assert {frame["seq"] for frame in frames} <= {*UNREAD, str(seq)}
    assert not [frame["text"] for frame in frames if LATE in frame["text"]]
    assert not [frame for frame in frames if "Live" in frame["text"].split("\n")]


def test_the_selection_comes_from_the_instant(recorded: Page, story: dict[str, int]) -> None:
    recorded.goto(f"/runs/{story['run']}/?seq={story['before']}")
    shows(recorded, story["before"])
    chosen = {frame["selected"].split()[0] for frame in painted(recorded) if frame["selected"]}
    assert chosen == {"shop/big-1"}  # the one that waits there; later none does


def test_a_jump_paints_nothing_in_between(recorded: Page, story: dict[str, int]) -> None:
    recorded.goto(f"/runs/{story['run']}/?seq={story['before']}")
    shows(recorded, story["before"])
    field = recorded.get_by_label("Sequence number")
    field.fill(str(story["early"]))
    field.press("Enter")
    shows(recorded, story["early"])
    recorded.go_back()
    shows(recorded, story["before"])
    recorded.go_forward()
    shows(recorded, story["early"])
    expect(recorded).to_have_url(re.compile(rf"seq={story['early']}$"))
    known = {*UNREAD, str(story["before"]), str(story["early"])}
    frames = painted(recorded)
    assert {frame["seq"] for frame in frames} <= known
    assert not [frame for frame in frames if LATE in frame["text"]]


def test_evidence_of_another_instant_is_not_painted(recorded: Page, story: dict[str, int]) -> None:
    run = story["run"]
    bound = f"/runs/{run}/pods/shop/big-0/?seq={story['before']}"
    recorded.goto(bound)
    shows(recorded, story["before"])
    recorded.get_by_role("region", name="Attempts").wait_for()
    recorded.keyboard.press("Home")
    shows(recorded, 0)
    for frame in painted(recorded):
        assert frame["seq"] != "0" or "Attempts" not in frame["text"]


def test_a_missing_event_is_not_replaced(page: Page, story: dict[str, int]) -> None:
    page.goto(f"/runs/{story['run']}/pods/?seq=999999")
    expect(page.get_by_role("alert").filter(has_text="999,999 cannot be shown")).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)
    page.get_by_role("button", name="Show the newest event").click()
    expect(page.get_by_role("row").filter(has_text=LATE).first).to_be_visible(timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(r"/pods/$"))
