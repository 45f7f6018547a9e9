"""The page of one node: what is stuck on it, its volumes as wanted and as they are, and the list of nodes."""

import os
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_board, finished_run, one_pod_too_many

SCENARIO = Path(__file__).parents[3] / "scenarios" / "wrong-fs-type.yaml"


def test_a_failed_mount_shows_its_next_retry(page: Page) -> None:
    run = finished_run(page, "wrong-fs", SCENARIO.read_bytes())
    page.goto(f"/runs/{run}/nodes/node-1/?seq=100")
    expect(
        page.get_by_text("reports cannot start: MountDevice of disk-reports failed")
    ).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("s until the next retry")).to_be_visible()
    world = page.get_by_role("region", name="State of world", exact=True)
    reports = world.get_by_role("row").filter(has_text="disk-reports")
    expect(reports).to_contain_text("4 failures")
    expect(reports).to_contain_text("MountDevice again at 10.100 s")
    expect(world.get_by_role("row").filter(has_text="disk-api")).to_contain_text("nothing")
    operations = page.get_by_role("region", name="Operations timeline")
    expect(operations.get_by_role("img", name="disk-reports: ")).to_be_visible()
    expect(operations.get_by_title("Mount failed")).to_have_count(4)
    slots = page.get_by_role("row").filter(has_text="Attachable volumes")
    expect(slots).to_contain_text("5")
    page.goto(f"/runs/{run}/machines/?pod=default/reports&seq=100")
    machine = page.get_by_role("region", name="Volume operation", exact=True)
    expect(machine.get_by_role("combobox")).to_have_value(
        "disk-reports on node-1", timeout=PATIENCE_MS
    )
    expect(machine.get_by_role("button", name="Backing off: 1.")).to_be_visible()
    expect(machine).to_contain_text("failed ×4")
    _expect_the_same_health_everywhere(page, run)
    page.goto(f"/runs/{run}/nodes/node-1/?seq=100")
    page.get_by_role("button", name="Jump to newest").click()
    expect(page.get_by_text("Nothing is stuck here")).to_be_visible()
    expect(world).to_contain_text("2 volumes, no difference")
    # The timeline above may still grow, and then a mouse hits what was there before.
    page.get_by_role("region", name="Pods", exact=True).get_by_role("link").first.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("default/")
    page.get_by_role("link", name="node-1").first.click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/nodes/node-1/\?pod=default/\w+$"))


def test_a_node_is_cordoned_from_its_page(page: Page) -> None:
    run = finished_board(page, "nodes", one_pod_too_many("nodes"))
    page.get_by_role("link", name="Nodes").click()
    row = page.get_by_role("row").filter(has_text="small")
    expect(row).to_contain_text("3 / 4", timeout=PATIENCE_MS)
    row.get_by_role("link", name="small").click()
    expect(page).to_have_url(f"/runs/{run}/nodes/small/")
    page.get_by_role("button", name="Cordon").click(timeout=PATIENCE_MS)
    question = page.get_by_role("dialog", name="Cordon small?")
    expect(question).to_contain_text("The run is finished. This resumes it")
    question.get_by_role("button", name="Cordon").click()
    expect(page.get_by_role("button", name="Uncordon")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("small is cordoned")).to_be_visible()
    page.get_by_label("Let something fail").select_option("Fail the next attach here")
    page.get_by_label("Times").fill("2")
    page.get_by_role("button", name="Inject…").click()
    question = page.get_by_role("dialog", name="Inject a fault: fail attach, node small, times 2?")
    question.get_by_role("button", name="Inject").click()
    expect(page.get_by_role("button", name="Inject…")).to_be_hidden(timeout=PATIENCE_MS)
    sent = page.request.get(f"/api/v1/runs/{run}/commands/").json()["items"]
    assert [each["verb"] for each in sent] == ["cordon", "fault"]
    page.goto(f"/runs/{run}/nodes/nobody/")
    expect(page.get_by_text("This node is not in the cluster")).to_be_visible(timeout=PATIENCE_MS)


def test_a_board_card_links_to_its_node(page: Page) -> None:
    run = finished_board(page, "card", one_pod_too_many("card"))
    page.get_by_role("article", name="Node small").get_by_role("link").click()
    expect(page).to_have_url(f"/runs/{run}/nodes/small/")


def test_a_drain_asks_first_and_can_be_left(page: Page) -> None:
    run = finished_run(page, "drain", one_pod_too_many("drain"))
    page.goto(f"/runs/{run}/nodes/small/")
    drain = page.get_by_role("button", name="Drain")
    drain.click(timeout=PATIENCE_MS)
    question = page.get_by_role("dialog", name="Drain small?")
    expect(question).to_contain_text("Cordons small, then evicts 2 pods.")
    expect(question).to_contain_text("The run is finished. This resumes it")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_be_hidden()
    expect(drain).to_be_focused()
    assert page.request.get(f"/api/v1/runs/{run}/commands/").json()["items"] == []
    drain.press("Enter")
    page.keyboard.press("Tab")
    with page.expect_response(lambda answer: "evict_pods" in (answer.request.post_data or "")):
        page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Uncordon")).to_be_visible(timeout=PATIENCE_MS)
    sent = page.request.get(f"/api/v1/runs/{run}/commands/").json()["items"]
    assert [each["verb"] for each in sent] == ["cordon", "evict_pods"]


def _expect_the_same_health_everywhere(page: Page, run: int) -> None:
    """Every page that shows the pod, its claim, volume or node tells of the mount that fails."""
    words = "MountDevice of disk-reports failed 4 times, next try at 10.100 s"

    def see(name: str, path: str, *shown: Locator) -> None:
        page.goto(f"/runs/{run}/{path}seq=100")
        for each in shown:
            expect(each).to_be_visible(timeout=PATIENCE_MS)
        if folder := os.environ.get("KSCOPE_TEST_SCREENSHOTS"):
            for scheme in ("light", "dark"):
                page.evaluate("theme => { document.documentElement.dataset.theme = theme }", scheme)
                for width in (1440, 390):
                    page.set_viewport_size({"width": width, "height": 900})
                    page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
            page.set_viewport_size({"width": 1440, "height": 900})

    tile = page.get_by_role("button", name=f"pod default/reports, {words}")
    card = page.get_by_role("article", name="Node node-1").get_by_title(
        f"reports cannot start: {words}"
    )
    lane = page.get_by_role("link", name=f"Claim default/reports, {words}. failing")
    see("board", "?pod=default/reports&", tile, card, lane)
    expect(page.get_by_label("Selected pod").get_by_text(words).first).to_be_visible()
    see("pods", "pods/?", page.get_by_role("row").filter(has_text=words))
    life = page.get_by_role("region", name="Life of the pod")
    see(
        "pod",
        "pods/default/reports/?",
        life.get_by_text("Mounting"),
        page.locator(".states").get_by_text(words),
    )
    see("volumes", "volumes/?", page.get_by_role("link", name=f"default/reports, {words}"))
    for name in ("default/reports", "disk-reports"):
        expect(page.get_by_role("button", name=f"{name}, 10 Gi, {words}")).to_be_visible()
    see("nodes", "nodes/?", page.get_by_role("row").filter(has_text=words))
    see("node", "nodes/node-1/?", page.get_by_role("region", name="Pods").get_by_title(words))
