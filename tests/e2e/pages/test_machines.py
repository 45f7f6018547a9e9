"""The state machines of a run: how many objects are where, and the way of the one that is followed."""

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_board, finished_run, one_pod_too_many


def test_a_pods_transitions_light_up(page: Page) -> None:
    run = finished_board(page, "machines", one_pod_too_many("machines"))
    page.get_by_role("link", name="State machines").click()
    queue = page.get_by_role("region", name="Scheduling queue", exact=True)
    cache = page.get_by_role("region", name="Scheduler cache", exact=True)
    expect(queue.get_by_role("button", name="Unschedulable: 1.")).to_be_visible(timeout=PATIENCE_MS)
    expect(queue).to_contain_text("In flight→Unschedulable")
    added = cache.get_by_role("button", name="Added: 2. Follow the next object in this state")
    added.press("Enter")
    expect(cache.get_by_role("combobox")).to_have_value("shop/big-0")
    expect(cache).to_contain_text("Assumed→AddedPodConfirmed on small")
    expect(page).to_have_url(f"/runs/{run}/machines/?pod=shop/big-0")
    added.click()
    expect(cache.get_by_role("combobox")).to_have_value("shop/big-1")


def test_a_transition_links_to_its_event(page: Page) -> None:
    run = finished_run(page, "machines-past", one_pod_too_many("machines-past"))
    page.goto(f"/runs/{run}/machines/?pod=shop/big-0")
    moves = page.get_by_role("region", name="Moves", exact=True)
    row = moves.get_by_role("row").filter(has_text="PodAssumed").filter(has_text="cache")
    row.get_by_role("link").click(timeout=PATIENCE_MS)
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    cache = page.get_by_role("region", name="Scheduler cache", exact=True)
    expect(cache.get_by_role("button", name="Assumed: 1.")).to_be_visible()
    expect(moves).not_to_contain_text("PodConfirmed")


def test_a_missing_pod_is_not_followed(page: Page) -> None:
    run = finished_run(page, "machines-nobody", one_pod_too_many("machines-nobody"))
    page.goto(f"/runs/{run}/machines/?pod=shop/big-2")
    field = page.get_by_role("region", name="Scheduling queue", exact=True).get_by_role("combobox")
    expect(field).to_have_value("shop/big-2", timeout=PATIENCE_MS)
    field.fill("shop/nobody")
    field.press("Enter")
    expect(field).to_have_value("shop/big-2")
    field.fill("shop/big-1")
    field.press("Enter")
    expect(page).to_have_url(f"/runs/{run}/machines/?pod=shop/big-1")


def test_typed_text_survives_a_cluster_change(page: Page) -> None:
    run = finished_run(page, "machines-typing", one_pod_too_many("machines-typing"))
    page.goto(f"/runs/{run}/machines/?pod=shop/big-2")
    field = page.get_by_role("region", name="Scheduling queue", exact=True).get_by_role("combobox")
    expect(field).to_have_value("shop/big-2", timeout=PATIENCE_MS)
    newest = page.get_by_label("Sequence number").input_value()
    field.fill("shop/big-1")
    cordon = {"verb": "cordon", "object": "node/small"}
    assert page.request.post(f"/api/v1/runs/{run}/commands/", data=cordon).ok
    expect(page.get_by_label("Sequence number")).not_to_have_value(newest, timeout=PATIENCE_MS)
    field.press("Enter")
    expect(page).to_have_url(f"/runs/{run}/machines/?pod=shop/big-1")
