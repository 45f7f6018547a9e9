"""Acting where one looks: editing, faults, taints and configurations, in a run and in a fork."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {disabled: [{name: ImageLocality}]}}
"""


def write(page: Page, name: str, text: str) -> None:
    """Put *text* in the place of what the editor of that name has."""
    page.get_by_role("textbox", name=name).click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def open_menu(page: Page, name: str, choice: str) -> None:
    """Open the menu of what can be changed, and choose one."""
    page.get_by_label(f"Change {name}", exact=True).click()
    page.locator(".change[open] .menubody").get_by_text(choice, exact=True).click()


def test_an_edited_request_is_scheduled_in_a_fork(page: Page) -> None:
    run = finished_run(page, "edited", one_pod_too_many("edited"))
    state = page.request.get(f"/api/v1/runs/{run}/state/").json()["state"]
    pod = next(id for id in state if id.startswith("pod/") and not state[id].get("node"))
    name = pod.rpartition("/")[2]
    page.goto(f"/runs/{run}/pods/shop/{name}/")
    open_menu(page, name, "Edit as YAML")
    manifest = page.request.get(f"/api/v1/runs/{run}/objects/{pod}/?format=yaml").text()
    line = manifest.splitlines().index("        cpu: 1500m") + 1
    write(page, f"Manifest of {pod}", manifest.replace("1500m", "lots"))
    wrong = page.get_by_role("list", name="What is wrong")
    expect(wrong).to_contain_text(f"Line {line}", timeout=PATIENCE_MS)
    expect(wrong).to_contain_text("is not a quantity")
    page.get_by_role("button", name="Save in a fork").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/edit/"))
    write(page, f"Manifest of {pod}", manifest.replace("1500m", "100m"))
    expect(wrong).to_have_count(0, timeout=PATIENCE_MS)
    page.get_by_role("button", name="Save in a fork").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page.get_by_text("bound to small").first).to_be_visible(timeout=PATIENCE_MS)
    assert "node" not in page.request.get(f"/api/v1/runs/{run}/state/").json()["state"][pod]


def test_the_editor_completes_fields_and_values(page: Page) -> None:
    run = finished_run(page, "completed", one_pod_too_many("completed"))
    page.goto(f"/runs/{run}/edit/")
    head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: new\nspec:\n  restartP"
    write(page, "Manifest of the new object", head)
    page.keyboard.press("Control+Space")
    offered = page.get_by_role("listbox").get_by_role("option")
    expect(offered.first).to_contain_text("restartPolicy", timeout=PATIENCE_MS)
    offered.first.click()
    page.keyboard.press("Control+Space")
    expect(offered).to_have_text(["Always", "Never", "OnFailure"], timeout=PATIENCE_MS)


def test_a_fault_and_a_taint_reach_the_run(page: Page) -> None:
    run = finished_run(page, "faulty", one_pod_too_many("faulty"))
    page.goto(f"/runs/{run}/nodes/small/")
    open_menu(page, "small", "Taints and labels…")
    form = page.get_by_role("dialog", name="Taints and labels of small")
    form.get_by_role("group", name="Taints").get_by_role("button", name="Add").click()
    form.get_by_label("Taints, key 1").fill("maintenance")
    form.get_by_label("Effect 1").select_option("NoExecute")
    form.get_by_role("button", name="In this run").click()
    expect(form).to_have_count(0, timeout=PATIENCE_MS)
    node = page.request.get(f"/api/v1/runs/{run}/objects/node/small/").json()
    assert {"key": "maintenance", "effect": "NoExecute"} in node["spec"]["taints"]
    open_menu(page, "small", "Inject a fault…")
    form = page.get_by_role("dialog", name="Inject a fault")
    form.get_by_label("Fault").select_option("die")
    expect(form.get_by_label("die (node)")).to_have_value("small")
    form.get_by_role("button", name="In this run").click()
    expect(form).to_have_count(0, timeout=PATIENCE_MS)
    died = page.request.get(f"/api/v1/runs/{run}/events/?kind=NodeDied").json()["items"]
    assert [each["object"] for each in died] == ["node/small"]


def test_a_configuration_is_changed_in_a_fork(page: Page) -> None:
    run = finished_run(page, "configured", one_pod_too_many("configured"))
    page.goto(f"/runs/{run}/")
    page.get_by_role("link", name="v1.36").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Configuration")
    points = page.get_by_role("region", name="Plugins of default-scheduler")
    score = page.get_by_role("rowheader", name="score", exact=True)
    expect(points.get_by_role("row").filter(has=score)).to_contain_text("ImageLocality")
    write(page, "Configuration of the scheduler", "kind: Pod")
    page.get_by_role("button", name="Create fork").click()
    refusal = page.get_by_text("expected KubeSchedulerConfiguration or Policy")
    expect(refusal).to_be_visible(timeout=PATIENCE_MS)
    write(page, "Configuration of the scheduler", CONFIGURATION)
    page.get_by_role("button", name="Create fork").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page.get_by_text("of this run", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("s", has_text="ImageLocality")).to_be_visible()
