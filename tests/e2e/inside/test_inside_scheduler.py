"""Inside: a scheduling cycle, step by step, and where it can be opened."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.stories import (
    PATIENCE_MS,
    cluster_file,
    finished_run,
    node,
    one_pod_too_many,
    pod,
)


def test_keys_lead_through_a_cycle_and_its_failure(page: Page) -> None:
    run = finished_run(page, "cycles", one_pod_too_many("cycles"))
    page.goto(f"/runs/{run}/pods/shop/big-0/")
    attempts = page.get_by_role("region", name="Attempts")
    attempts.get_by_role("link", name="Inside of cycle 1").click(timeout=PATIENCE_MS)
    stage = page.get_by_role("region", name="Step")
    heading = stage.locator("header").get_by_role("heading")
    expect(heading).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"/runs/{run}/inside/scheduler/?cycle=1&step=bind")
    expect(heading).to_have_text("Bind", timeout=PATIENCE_MS)
    expect(page.get_by_text("Viewing the past")).to_be_visible()
    page.keyboard.press("5")
    expect(heading).to_have_text("Filter")
    expect(page).to_have_url(re.compile(r"cycle=1&.*step=filter"))
    expect(stage.get_by_role("row").filter(has_text="small")).to_contain_text("fits")
    page.go_back()
    expect(heading).to_have_text("Bind")
    memory = page.get_by_role("complementary", name="Code and memory")
    expect(memory).to_contain_text("Scheduler.bind()")
    page.keyboard.press("Home")
    expect(memory.locator(".changed")).to_contain_text(["3 → 2", "– → big-0", "0 → 1"])
    page.keyboard.press("]")
    page.keyboard.press("]")
    steps = page.get_by_role("navigation", name="Steps of the cycle")
    expect(steps.get_by_role("heading")).to_have_text("Cycle 3", timeout=PATIENCE_MS)
    page.keyboard.press("End")
    expect(heading).to_have_text("PostFilter", timeout=PATIENCE_MS)
    expect(steps.get_by_role("listitem").last).to_have_class(re.compile("failed"))


def test_each_step_says_what_rest_says(page: Page) -> None:
    run = finished_run(page, "walked", two_nodes("walked"))
    told = page.request.get(f"/api/v1/runs/{run}/inside/scheduler/?cycle=1").json()
    phases = {phase["name"]: phase for phase in told["phases"]}
    page.goto(f"/runs/{run}/inside/scheduler/?cycle=1&step=pop")
    spine = page.get_by_role("navigation", name="Steps of the cycle").locator(".spine")
    memory = page.get_by_role("complementary", name="Code and memory")
    path = page.get_by_role("region", name="Step").locator(".path")
    for step, phase in STEPS.items():
        expect(spine.locator("[aria-current=step]")).to_contain_text(step, timeout=PATIENCE_MS)
        expect(path).to_contain_text(phases[phase]["function"])
        calls = [each["function"] for each in phases[phase]["callers"]]
        expect(memory.locator(".stack b")).to_have_text(
            [f"{name}()" for name in (*calls, phases[phase]["function"])]
        )
        expect(page).to_have_url(re.compile(rf"step={phase.replace('_', '')}\b"))
        page.keyboard.press("ArrowRight")
    page.keyboard.press("7")
    totals = page.locator(".totals li")
    expect(totals).to_have_count(len(told["score"]["nodes"]))
    for scored in told["score"]["nodes"]:
        expect(totals.filter(has_text=scored["node"])).to_contain_text(str(scored["total"]))
    supposed = page.get_by_role("region", name="What if")
    expect(supposed).to_contain_text("as recorded", timeout=PATIENCE_MS)
    page.keyboard.press("w")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    other = page.request.get(f"/api/v1/runs/{run}/inside/what-if/?cycle=1").json()["supposed"][-2]
    expect(supposed).to_contain_text("Not what happened.")
    expect(supposed).to_contain_text(f"Only {other['tied'][0]} would fit")
    supposed.get_by_role("button", name="Try in a fork").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page.locator(".pagehead")).to_contain_text("bound to", timeout=PATIENCE_MS)


STEPS = {
    "Pop": "pop",
    "Snapshot": "snapshot",
    "Node order": "order",
    "PreFilter": "pre_filter",
    "Filter": "filter",
    "PostFilter": "post_filter",
    "Score": "score",
    "Select host": "host",
    "Assume": "assume",
    "Permit": "permit",
    "PreBind": "pre_bind",
    "Bind": "bind",
}


def two_nodes(name: str) -> bytes:
    """Two nodes that differ, and a pod that comes later and fits on both."""
    steps = [{"at": "5s", "create": pod("web", cpu="500m")}]
    return cluster_file(name, node("big", cpu="8"), node("small", cpu="2"), steps=steps)


def test_a_cycle_that_there_is_not_says_so(page: Page) -> None:
    run = finished_run(page, "no-cycle", one_pod_too_many("no-cycle"))
    page.goto(f"/runs/{run}/inside/scheduler/?cycle=99")
    stage = page.get_by_role("region", name="Step")
    expect(stage).to_contain_text("There is no cycle 99", timeout=PATIENCE_MS)
    stage.get_by_role("button", name="Show the newest cycle").click()
    heading = page.get_by_role("navigation", name="Steps of the cycle").get_by_role("heading")
    expect(heading).to_have_text("Cycle 3", timeout=PATIENCE_MS)
