"""A sample of `make walk`: pages say what the API says, and no text is cut or overlaps another."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.walk.runs import History, demos, play
from tests.walk.truth import board
from tests.walk.walk import IN_PAGE, Place, Walker

SEED = 1
# With instants below, about sixty seconds of CPU.
DEMOS = ("The GPU that no node has", "A sick cluster, as kubectl printed it")


@pytest.mark.parametrize("demo", DEMOS)
def test_pages_say_what_the_api_says(fresh_page: Page, demo: str) -> None:
    walker = Walker(fresh_page, SEED)
    run = play(fresh_page.request, demo, demos(fresh_page.request)[demo])
    walker.walk_run(run, instants=2)
    assert walker.report.frames > 0
    assert walker.report.findings == [], str(walker.report)


def measured(page: Page, content: str) -> list[tuple[str, str]]:
    """The kind of each finding of a page of that content, and the text."""
    page.add_init_script(path=IN_PAGE)
    page.goto("/healthz")
    page.set_viewport_size({"width": 400, "height": 300})
    page.evaluate(
        "html => { document.body.innerHTML = html; document.body.style.margin = 0; }", content
    )
    found: list[dict[str, Any]] = page.evaluate("window.walk.measure()")
    return [(each["kind"], each["text"]) for each in found]


def test_a_frame_of_another_instant_is_found(fresh_page: Page) -> None:
    run = play(fresh_page.request, DEMOS[0], demos(fresh_page.request)[DEMOS[0]])
    walker = Walker(fresh_page, SEED)
    walker.walk_run(run, instants=2, pages=("board",))
    assert walker.report.findings == [], str(walker.report)
    # The page says all of a later event, and the number of an early one.
    fresh_page.goto(f"/runs/{run.id}/?seq={run.head}")
    fresh_page.wait_for_function("seq => window.walk.rests(seq)", arg=run.head)
    fresh_page.evaluate("for (const frame of window.walk.frames) frame.seq = 2")
    history, board_page = History(fresh_page.request, run), Place("board", "")
    found = list(walker.wrong_frames(history, board_page, {run.head}))
    assert {(each.kind, each.selector) for each in found} >= {
        ("instant", "#seq"),
        ("later", "main"),
    }


def test_faults_may_name_what_comes_later(fresh_page: Page) -> None:
    demo = "A half-finished binding"
    run = play(fresh_page.request, demo, demos(fresh_page.request)[demo])
    history = History(fresh_page.request, run)
    _, newest = history.state(run.head)
    assert "claim/shop/orders" in newest
    injected = fresh_page.request.get(f"/api/v1/runs/{run.id}/events/?kind=FaultInjected").json()
    seq = injected["items"][0]["seq"]
    assert "orders" in history.later_names(seq - 1)
    assert "orders" not in history.later_names(seq)


def test_what_is_made_again_was_known_before(fresh_page: Page) -> None:
    demo = "A clone that is refused"
    run = play(fresh_page.request, demo, demos(fresh_page.request)[demo])
    history = History(fresh_page.request, run)
    made = [
        each["seq"]
        for each in history.events()
        if (each["kind"], each["object"]) == ("PodCreated", "pod/default/reader")
    ]
    assert len(made) == 2
    assert "pod/default/reader" not in history.state(made[1] - 1)[1]
    assert "reader" not in history.later_names(made[1] - 1)
    assert "reader" in history.later_names(made[0] - 1)


CUT = '<p style="width: 60px; overflow: hidden; white-space: nowrap" {}>a long enough name</p>'
OVER = '<p style="margin: 0; height: 4px">one line</p><p style="margin: 0">another line</p>'


def test_cut_text_without_title_is_found(fresh_page: Page) -> None:
    assert measured(fresh_page, CUT.format("")) == [("cut", "a long enough name")]


def test_cut_text_with_its_title_passes(fresh_page: Page) -> None:
    assert measured(fresh_page, CUT.format('title="a long enough name"')) == []


def test_a_title_of_other_words_fails(fresh_page: Page) -> None:
    assert measured(fresh_page, CUT.format('title="a name"')) == [("cut", "a long enough name")]


def test_texts_over_each_other_are_found(fresh_page: Page) -> None:
    assert measured(fresh_page, OVER) == [("overlap", "one line | another line")]


def test_a_page_wider_than_the_window_is_found(fresh_page: Page) -> None:
    wide = '<p style="width: 500px">wide</p>'
    assert measured(fresh_page, wide) == [("sideways", "100 px")]


def test_a_wrong_fact_on_a_page_is_found(fresh_page: Page) -> None:
    demo = DEMOS[0]
    run = play(fresh_page.request, demo, demos(fresh_page.request)[demo])
    seq = run.head // 2
    fresh_page.add_init_script(path=IN_PAGE)
    fresh_page.goto(f"/runs/{run.id}/?seq={seq}")
    fresh_page.evaluate("window.walk.page = 'board'")
    fresh_page.wait_for_function("seq => window.walk.rests(seq)", arg=seq)
    _, state = History(fresh_page.request, run).state(seq)
    del state[next(key for key in state if key.startswith("node/"))]
    shown = fresh_page.evaluate("window.walk.frames.at(-1).facts")
    assert shown["nodes"] == board(state, "")["nodes"] + 1
