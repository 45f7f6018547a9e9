"""The gallery of stories, and what a story shows at its end."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS

_MESSAGE = (
    "0/9 nodes are available: 4 Insufficient nvidia.com/gpu, 5 node(s) had untolerated taint "
    "{gpu: yes}. preemption: 0/9 nodes are available: 9 Preemption is not helpful."
)


def test_a_pasted_message_finds_stories_while_one_types(page: Page) -> None:
    page.goto("/stories/")
    stories = page.locator(".story")
    whole = stories.count()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("searchbox").fill(_MESSAGE)
    expect(page.get_by_role("status")).not_to_have_text(f"{whole} stories", timeout=PATIENCE_MS)
    expect(stories.filter(has_text="Checkout surge")).to_be_visible()
    expect(stories.filter(has_text="A half-finished binding")).to_have_count(0)
    expect(page).to_have_url(re.compile("q=0%2F9"))
    page.get_by_role("searchbox").fill("nobody has this")
    expect(page.get_by_text("No story matches.")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("searchbox").fill("")
    expect(stories).to_have_count(whole, timeout=PATIENCE_MS)


def test_a_topic_narrows_the_gallery(page: Page) -> None:
    page.goto("/stories/")
    page.get_by_role("navigation", name="Topic").get_by_role("link", name="Devices").click()
    expect(page.locator(".story")).to_have_count(1)
    expect(page.locator(".story svg.th rect").first).to_be_visible()


def test_a_story_ends_with_its_answer(page: Page) -> None:
    page.goto("/stories/?q=fits+on+no+node")
    page.get_by_role("link", name="A pod that fits on no node", exact=True).click()
    expect(page.locator("main.board:not(.waiting)")).to_be_visible(timeout=PATIENCE_MS)
    # What the question is about is selected, without anybody's choice.
    expect(page.locator("#inspector h2")).to_contain_text("report-0")
    answer = page.locator(".runanswer")
    expect(answer).to_contain_text("It runs on node-4, which joins at 40 s.")
    answer.get_by_role("link", name="See it happen").click()
    expect(page).to_have_url(re.compile(r"/pods/default/report-0/\?.*seq=\d+"))
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    expect(answer).to_have_count(0)


def test_a_story_about_a_claim_opens_beside_it(page: Page) -> None:
    page.goto("/stories/?q=half-finished")
    page.get_by_role("button", name="Start run of A half-finished binding").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+/volumes/\?claim=shop/orders$"))
    expect(page.locator(".runanswer")).to_have_count(0)
    page.get_by_role("button", name="max", exact=True).click()
    expect(page.locator(".runanswer")).to_contain_text("claim orders", timeout=PATIENCE_MS)
