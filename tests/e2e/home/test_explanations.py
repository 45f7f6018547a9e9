"""Words are explained where they stand, to the pointer and to the keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_that_lacks_two_things


@pytest.fixture
def run(page: Page) -> int:
    return finished_run(page, "words", one_pod_that_lacks_two_things("words"))


def test_the_pointer_has_a_plugin_explained(page: Page, run: int) -> None:
    page.goto(f"/runs/{run}/pods/shop/huge/")
    plugin = page.locator("th[data-explained]", has_text="TaintToleration").first
    plugin.hover()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("drops nodes with a taint that the pod does not tolerate")
    expect(plugin).to_have_attribute("aria-describedby", "explanation")
    # It stays while the pointer is on it, and Escape ends it.
    tip.hover()
    page.wait_for_timeout(400)
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    expect(plugin).not_to_have_attribute("aria-describedby", "explanation")


def test_the_keyboard_goes_through_words(page: Page, run: int) -> None:
    page.goto(f"/runs/{run}/")
    lanes = page.locator(".lane h3[data-explained=stop]")
    expect(lanes).to_have_count(5, timeout=PATIENCE_MS)
    assert lanes.evaluate_all("all => all.filter((each) => each.tabIndex === 0).length") == 1
    lanes.first.focus()
    page.keyboard.press("ArrowDown")
    expect(lanes.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("tooltip")).to_contain_text("Backoff the time that a pod waits")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/glossary/#backoff$"))
    expect(page.locator("#backoff + dd")).to_contain_text("the time that a pod waits")


def test_a_state_that_can_be_pressed_explains_itself(page: Page, run: int) -> None:
    page.goto(f"/runs/{run}/machines/")
    state = page.get_by_role("button", name="Unschedulable").first
    expect(state.locator("[data-explained=part]")).to_have_count(1, timeout=PATIENCE_MS)
    state.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("wait until something happens")


def test_a_word_of_a_lesson_has_its_sentence(page: Page) -> None:
    page.goto("/lessons/a-disk-that-cannot-move/")
    word = page.locator(".term", has_text="claim").first
    word.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("an object that asks for storage")


def test_the_glossary_leads_to_an_instant(page: Page) -> None:
    page.goto("/glossary/#snapshot")
    page.locator("#snapshot + dd").get_by_role("link", name="See it in a run").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+/inside/scheduler/\?"), timeout=PATIENCE_MS)
