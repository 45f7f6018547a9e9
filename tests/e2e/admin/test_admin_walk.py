"""A walk through the admin: an object of each kind, many nodes at once, two admins at one node."""

import json
import re

from playwright.sync_api import Browser, Page, expect

from kscope.runs.editing.beginnings import BEGINNINGS
from tests.e2e.conftest import Site, watched_page
from tests.e2e.stories import PATIENCE_MS, cluster_file, finished_run, log_in, node, pod

OWN_PAGES = {
    "v1 Node": "scheduling/node",
    "v1 Pod": "scheduling/pod",
    "v1 PersistentVolume": "volumes/persistentvolume",
    "v1 PersistentVolumeClaim": "volumes/persistentvolumeclaim",
    "storage.k8s.io/v1 StorageClass": "volumes/storageclass",
}


def small_cluster(name: str) -> bytes:
    """Three nodes and a pod."""
    return cluster_file(name, *(node(f"n{i}") for i in range(3)), pod("web"))


def told(page: Page) -> str:
    """The message of the page."""
    message = page.locator(".messagelist li").first
    expect(message).to_be_visible(timeout=PATIENCE_MS)
    return message.inner_text()


def test_an_object_of_each_kind_is_created(page: Page, site: Site) -> None:
    run = finished_run(page, "each-kind", small_cluster("each-kind"))
    log_in(page, site.password)
    for key in BEGINNINGS:
        table = OWN_PAGES.get(key, "runs/otherobject")
        page.goto(f"/admin/{table}/?run__id__exact={run}")
        page.get_by_role("link", name="Add").last.click()
        if table == "runs/otherobject":
            page.get_by_label("Kind").select_option(key)
            page.get_by_role("button", name="Begin again with these").click()
        expect(page.get_by_role("textbox", name="Manifest")).to_contain_text(key.split()[1])
        page.get_by_role("button", name="Create", exact=True).click()
        assert "applied at seq" in told(page), key


def test_the_editor_of_the_admin_completes_and_corrects(page: Page, site: Site) -> None:
    run = finished_run(page, "admin-editor", small_cluster("admin-editor"))
    log_in(page, site.password)
    page.goto(f"/admin/scheduling/pod/add/?run={run}")
    editor = page.get_by_role("textbox", name="Manifest")
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("  restartP")
    page.keyboard.press("Control+Space")
    offered = page.get_by_role("listbox").get_by_role("option")
    expect(offered.first).to_contain_text("restartPolicy", timeout=PATIENCE_MS)
    offered.first.click()
    page.keyboard.insert_text("Sometimes")
    wrong = page.locator(".yaml-remarks li.error")
    expect(wrong).to_contain_text("spec.restartPolicy", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator(".errorlist")).to_contain_text("Line 14, spec.restartPolicy")
    page.get_by_role("textbox", name="Manifest").click()
    page.keyboard.press("Control+End")
    for _ in "Sometimes":
        page.keyboard.press("Backspace")
    page.keyboard.insert_text("Never")
    page.get_by_role("button", name="Create and open").click()
    expect(page).to_have_url(re.compile(r"/admin/scheduling/pod/\d+/change/"), timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", level=1)).to_have_text("pod default/new-pod")
    made = page.request.get(f"/api/v1/runs/{run}/objects/pod/default/new-pod/").json()
    assert made["spec"]["restartPolicy"] == "Never"


def test_nodes_are_cordoned_and_tainted_in_bulk(page: Page, site: Site) -> None:
    run = finished_run(page, "in-bulk", small_cluster("in-bulk"))
    log_in(page, site.password)
    page.goto(f"/admin/scheduling/node/?run__id__exact={run}")
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("cordon")
    page.get_by_role("button", name="Go", exact=True).click()
    assert told(page) == "Cordon: 3 commands were sent, 3 applied."
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("taint")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_label("Key").fill("maintenance")
    page.get_by_label("Effect").select_option("NoExecute")
    page.get_by_role("button", name="Taint").click()
    assert told(page) == "Taint: 3 commands were sent, 3 applied."
    for name in ("n0", "n1", "n2"):
        held = page.request.get(f"/api/v1/runs/{run}/objects/node/{name}/").json()["spec"]
        assert held["unschedulable"] is True
        assert {"key": "maintenance", "effect": "NoExecute"} in held["taints"]


def test_second_of_two_admins_learns_of_a_conflict(
    page: Page, browser: Browser, site: Site
) -> None:
    run = finished_run(page, "two-admins", small_cluster("two-admins"))
    with watched_page(browser, site.address) as other:
        for each in (page, other):
            log_in(each, site.password)
            each.goto(f"/admin/scheduling/node/?run__id__exact={run}")
            each.get_by_role("link", name="n1", exact=True).click()
        page.get_by_label("Taints").fill(json.dumps([{"key": "own", "effect": "NoSchedule"}]))
        page.get_by_role("button", name="Submit to the engine").click()
        assert "applied at seq" in told(page)
        other.get_by_label("Labels").fill("disk: fast")
        other.get_by_role("button", name="Submit to the engine").click()
        expect(other.locator(".errornote")).to_contain_text(
            "Nothing was saved: Conflict", timeout=PATIENCE_MS
        )
        table = other.get_by_role("table", name="Your input and the newest version")
        expect(table.get_by_role("row").filter(has_text="taints")).to_contain_text("others")
        expect(table.get_by_role("row").filter(has_text="disk")).to_contain_text("you")
        other.get_by_role("button", name="Submit to the engine").click()
        assert "applied at seq" in told(other)
    held = page.request.get(f"/api/v1/runs/{run}/objects/node/n1/").json()
    assert [taint["key"] for taint in held["spec"]["taints"]] == ["own"]
    assert held["metadata"]["labels"] == {"disk": "fast"}
