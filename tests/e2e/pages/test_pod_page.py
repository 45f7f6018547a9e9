"""A pod's own page: what holds it, its life, the matrix and the numbers behind a cell."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import (
    PATIENCE_MS,
    cluster_file,
    finished_board,
    finished_run,
    node,
    one_pod_that_lacks_two_things,
    one_pod_too_many,
    pod,
    pod_button,
)


def test_the_inspector_links_to_the_pods_matrix(page: Page) -> None:
    finished_board(page, "pod-page", one_pod_that_lacks_two_things("pod-page"))
    pod_button(page, "huge").click()
    page.get_by_role("link", name="shop/huge").click()
    expect(page.get_by_role("heading", name="shop/huge")).to_be_visible(timeout=PATIENCE_MS)
    matrix = page.get_by_role("region", name="Verdict matrix")
    expect(matrix.get_by_role("button", name="small, TaintToleration: fails, gpu")).to_be_visible()
    matrix.get_by_role("button", name="small, NodeResourcesFit: would also fail").click()
    evidence = page.get_by_role("dialog", name="Evidence: small, NodeResourcesFit")
    expect(evidence).to_contain_text("Insufficient cpu. Preemption cannot help.")
    expect(evidence.get_by_role("row", name="Short by")).to_contain_text("1000m")
    page.keyboard.press("Escape")
    expect(evidence).to_be_hidden()


def test_a_bound_pod_shows_its_nodes_scores(page: Page) -> None:
    run = finished_run(page, "pod-scores", one_pod_too_many("pod-scores"))
    page.goto(f"/runs/{run}/pods/")
    page.get_by_label("State").select_option("bound")
    expect(page.get_by_role("link", name="shop/big-")).to_have_count(2)
    page.get_by_role("link", name="shop/big-").first.click()
    scores = page.get_by_role("region", name="Scores")
    expect(scores).to_contain_text("small chosen", timeout=PATIENCE_MS)
    expect(page.get_by_role("region", name="Life of the pod")).to_contain_text("Running")


def test_a_chosen_attempt_outlives_a_reload(page: Page) -> None:
    room = {"at": "20s", "create": node("roomy", cpu="8")}
    content = cluster_file("pod-attempts", node("small"), pod("huge", cpu="5"), steps=[room])
    run = finished_run(page, "pod-attempts", content)
    page.goto(f"/runs/{run}/pods/shop/huge/")
    attempts = page.get_by_role("region", name="Attempts").get_by_role("button")
    expect(attempts.first).to_have_attribute("aria-pressed", "true")
    attempts.last.click()
    expect(attempts.last).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(attempts.last).to_have_attribute("aria-pressed", "true")
    attempts.first.click()
    expect(attempts.first).to_have_attribute("aria-pressed", "true")
    expect(page).not_to_have_url(re.compile("attempt="))


def test_a_pod_page_shows_the_past(page: Page) -> None:
    run = finished_run(page, "pod-past", one_pod_too_many("pod-past"))
    page.goto(f"/runs/{run}/pods/shop/big-0/?seq=1")
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("End")
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("1 of 1 nodes fit")
