"""A lesson, read with the keyboard alone: steps, questions on the picture, and the run beside them."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS

LESSON = "/lessons/a-disk-that-cannot-move/"


def heading(page: Page) -> str:
    return page.locator(".telling h2").inner_text()


def test_a_lesson_is_read_by_keyboard_alone(page: Page) -> None:
    page.goto("/lessons/")
    link = page.get_by_role("link", name="A disk that cannot move")
    while not link.evaluate("each => each === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Two disks that cannot move")).to_be_visible()
    # The text is there before the run is.
    stage = page.locator(".stage:not(.computing)")
    expect(stage).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".evline")).to_contain_text("WaitForFirstConsumer data-db-1")
    page.keyboard.press("ArrowRight")
    assert heading(page) == "Which decision comes first?"
    # Nobody goes on before an answer.
    page.keyboard.press("ArrowRight")
    assert heading(page) == "Which decision comes first?"
    choice = page.get_by_role("button", name="Choose local-1, answer 2")
    while not choice.evaluate("each => each === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".because")).to_contain_text("Not this time. The answer is: A node")
    expect(page.locator(".evline")).to_contain_text("PodAssumed", timeout=PATIENCE_MS)
    expect(page.locator(".choice.answer")).to_contain_text("answer")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert heading(page) == "Which node will db-1 take?"
    page.keyboard.press("2")
    expect(page.locator(".because")).to_contain_text("Yes.")
    expect(page.locator(".tally")).to_have_text("1 of 2 right")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"\?step=7$"))
    # What was answered is kept in this browser.
    page.reload()
    expect(page.locator(".tally")).to_have_text("1 of 2 right")


def test_a_time_in_the_text_moves_the_run(page: Page) -> None:
    page.goto(f"{LESSON}?step=4")
    expect(page.locator(".evline")).to_contain_text("VolumePreBound", timeout=PATIENCE_MS)
    page.get_by_role("button", name="3.003 s").first.press("Enter")
    expect(page.locator(".evline")).to_contain_text("PodAssumed")
    page.get_by_role("button", name="for data-db-0").press("Enter")
    expect(page.locator(".attribute")).to_contain_text("claim: default/data-db-0")


def test_a_step_links_the_page_of_its_pod(page: Page) -> None:
    page.goto("/lessons/points-a-tie-and-a-draw/?step=3")
    link = page.get_by_role("link", name="See this instant on the page of ledger-0", exact=True)
    link.click(timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(r"/pods/shop/ledger-0/\?seq=\d+"))
