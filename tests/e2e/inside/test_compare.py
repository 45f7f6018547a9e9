"""Compare: two boards with one play head, and one board where both runs are the same."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.e2e.acting.test_forks import api, cordoned_fork
from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many


def board_of(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=f"Board of {name}", exact=True)


def tiles_of(board: dict[str, Any]) -> list[tuple[str, bool]]:
    """The pods of a board as REST has it, and whether they are elsewhere."""
    pods = [pod for node in board["nodes"] for pod in node["pods"]] + board["waits"]
    return [(pod["pod"].removeprefix("pod/"), pod["elsewhere"]) for pod in pods]


def test_both_boards_follow_one_play_head(page: Page) -> None:
    run = finished_run(page, "boards", one_pod_too_many("boards"))
    fork = cordoned_fork(page, run)
    bound = api(page, f"{run}/events/?kind=PodBound&limit=1")["items"][0]
    pod, at = bound["object"].removeprefix("pod/"), bound["at"]
    page.goto(f"/runs/{run}/compare/?with={fork}&t={at / 1e9}")
    boards = {"a": board_of(page, f"#{run}"), "b": board_of(page, f"#{fork}")}
    told = api(page, f"{run}/compare/?with={fork}&at={at}")
    for side, board in boards.items():
        for name, elsewhere in tiles_of(told["boards"][side]):
            tile = board.get_by_role("button", name=name)
            expect(tile).to_have_class(re.compile("elsewhere" if elsewhere else "^pod"))
    boards["a"].get_by_role("button", name=pod).click()
    for board in boards.values():
        expect(board.get_by_role("button", name=pod)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowLeft")
    both = board_of(page, f"#{run} and #{fork}")
    expect(both).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("region", name="The board of both")).to_contain_text("The shared past")
    page.keyboard.press("n")
    expect(boards["b"]).to_be_visible(timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(rf"with={fork}&.*seq=\d+"))
    page.go_back()
    expect(both).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("f")
    decided = boards["a"].get_by_role("button", name=told["decision"]["object"][4:])
    expect(decided).to_have_attribute("aria-pressed", "true")
    head = page.get_by_role("region", name="First difference").get_by_role("heading")
    expect(head).to_contain_text(f"#{run} binds it to small")
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(boards["b"]).to_be_visible(timeout=PATIENCE_MS)


def test_equal_runs_are_one_board(page: Page) -> None:
    one, other = (finished_run(page, "equal", one_pod_too_many("equal")) for _ in range(2))
    page.goto(f"/runs/{one}/compare/?with={other}")
    told = api(page, f"{one}/compare/?with={other}")
    expect(page.get_by_role("article")).to_have_count(1, timeout=PATIENCE_MS)
    region = page.get_by_role("region", name="The board of both")
    expect(region).to_contain_text(f"Equal in all {told['shared']} events")
    expect(region.get_by_role("button")).to_have_count(len(tiles_of(told["boards"]["a"])))
