"""What would fix a pending pod: asked for, tried, applied."""

from playwright.sync_api import Page, expect

from tests.e2e.stories import (
    PATIENCE_MS,
    agree,
    finish,
    one_pod_that_lacks_two_things,
    one_pod_too_many,
    pod_button,
    start,
)


def test_a_button_applies_a_tried_change(page: Page) -> None:
    start(page, "would-fix", one_pod_too_many("would-fix"))
    finish(page)
    pod_button(page, "big-").click()
    section = page.get_by_role("region", name="What would fix it")
    section.get_by_role("button", name="Try changes").click()
    expect(section).to_contain_text("verified in a fork", timeout=PATIENCE_MS)
    expect(section).to_contain_text("cpu 500m short")
    section.get_by_role("button", name="Apply: Ask for 1 cpu instead of 1500m").click()
    agree(page)
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text("bound to small", timeout=PATIENCE_MS)
    expect(section).to_have_count(0)


def test_one_button_applies_two_needed_changes(page: Page) -> None:
    start(page, "would-fix-two", one_pod_that_lacks_two_things("would-fix-two"))
    finish(page)
    pod_button(page, "huge").click()
    section = page.get_by_role("region", name="What would fix it")
    section.get_by_role("button", name="Try changes").click()
    expect(section).to_contain_text("neither is enough alone", timeout=PATIENCE_MS)
    order = "Tolerate gpu:NoSchedule, and ask for 4 cpu instead of 5"
    expect(section).to_contain_text("Apply both")
    section.get_by_role("button", name=f"Apply: {order}").click()
    agree(page)
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text("bound to small", timeout=PATIENCE_MS)
    expect(section).to_have_count(0)


def test_the_keyboard_asks_too(page: Page) -> None:
    start(page, "would-fix-keys", one_pod_too_many("would-fix-keys"))
    finish(page)
    pod_button(page, "big-").click()
    page.keyboard.press("w")
    section = page.get_by_role("region", name="What would fix it")
    expect(section).to_contain_text("verified in a fork", timeout=PATIENCE_MS)
