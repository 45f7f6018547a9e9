"""A run is deleted in the browser, after a question."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many


def test_a_run_is_deleted_after_a_question(page: Page) -> None:
    run = finished_run(page, "going", one_pod_too_many("going"))
    fork = page.request.post(f"/api/v1/runs/{run}/fork/", data={"name": "staying"}).json()["id"]
    row = page.locator(f"tr[data-run='{run}']")
    question = page.get_by_role("dialog", name=f"Delete run going #{run}?")
    page.goto("/runs/")
    row.get_by_role("button", name=f"Delete going #{run}").click()
    expect(question).to_contain_text("This cannot be undone.")
    expect(question).to_contain_text("Its fork keeps its own history.")
    expect(question).to_contain_text(re.compile(r"Deletes its \d+ events"))
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_be_hidden()
    assert page.request.get(f"/api/v1/runs/{run}/").ok
    row.get_by_role("button", name=f"Delete going #{run}").click()
    question.get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0, timeout=PATIENCE_MS)
    assert page.request.get(f"/api/v1/runs/{run}/").status == 404

    page.goto(f"/runs/{fork}/")
    page.get_by_role("button", name="Delete this run").click()
    question = page.get_by_role("dialog", name=f"Delete run staying #{fork}?")
    expect(question).not_to_contain_text("fork")
    question.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile(r"^http://[^/]+/runs/$"), timeout=PATIENCE_MS)
    assert page.request.get(f"/api/v1/runs/{fork}/").status == 404
