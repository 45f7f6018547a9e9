"""Why objects are as they are, and what would fix it: asked, tried, applied, for each kind of object."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.stories import (
    PATIENCE_MS,
    agree,
    cluster_file,
    finished_board,
    finished_run,
    node,
    one_pod_that_lacks_two_things,
    one_pod_too_many,
    pod,
    pod_button,
)


def why_card(page: Page) -> Locator:
    return page.get_by_role("region", name="Why, and what would fix it")


def asked(page: Page) -> Locator:
    """The answer, asked for with the button."""
    card = why_card(page)
    # By key: what the page gets late may move the button away between press and release of a mouse.
    card.get_by_role("button", name="Ask why").press("Enter", timeout=PATIENCE_MS)
    return card


def claim(name: str, **spec: Any) -> dict[str, Any]:
    """A claim of 1Gi without a class."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {**wanted, "storageClassName": "", **spec},
    }


def volume(name: str, **spec: Any) -> dict[str, Any]:
    """A volume of 1Gi without a class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/mnt"},
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        },
    }


def user(name: str, claim_name: str) -> dict[str, Any]:
    """A pod that mounts a claim."""
    mounting = pod(name)
    source = {"claimName": claim_name}
    mounting["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": source}]
    return mounting


def workload(replicas: int) -> dict[str, Any]:
    """A ReplicaSet of small pods."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("any")["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def policy(kind: str, name: str, version: str, **spec: Any) -> dict[str, Any]:
    """A quota or a budget."""
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def test_a_button_applies_a_tried_change(page: Page) -> None:
    finished_board(page, "would-fix", one_pod_too_many("would-fix"))
    pod_button(page, "big-").click()
    section = why_card(page)
    section.get_by_role("button", name="Ask why").click()
    expect(section).to_contain_text("verified in a fork", timeout=PATIENCE_MS)
    expect(section).to_contain_text("cpu 500m short")
    section.get_by_role("button", name="Apply: Ask for 1 cpu instead of 1500m").press("Enter")
    agree(page)
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text("bound to small", timeout=PATIENCE_MS)
    expect(section.get_by_role("button", name="Ask why")).to_be_visible()


def test_one_button_applies_two_needed_changes(page: Page) -> None:
    finished_board(page, "would-fix-two", one_pod_that_lacks_two_things("would-fix-two"))
    pod_button(page, "huge").click()
    section = why_card(page)
    section.get_by_role("button", name="Ask why").click()
    expect(section).to_contain_text("neither is enough alone", timeout=PATIENCE_MS)
    order = "Tolerate gpu:NoSchedule, and ask for 4 cpu instead of 5"
    expect(section).to_contain_text("Apply both")
    section.get_by_role("button", name=f"Apply: {order}").press("Enter")
    agree(page)
    inspector = page.get_by_role("complementary", name="Selected pod")
    expect(inspector).to_contain_text("bound to small", timeout=PATIENCE_MS)
    expect(section.get_by_role("button", name="Ask why")).to_be_visible()


def test_the_keyboard_asks_and_goes_to_the_answer(page: Page) -> None:
    finished_board(page, "would-fix-keys", one_pod_too_many("would-fix-keys"))
    pod_button(page, "big-").click()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("Ask why the selected object is as it is")
    page.keyboard.press("Escape")
    page.get_by_label("Sequence number").press("w")
    section = why_card(page)
    expect(section.get_by_role("button", name="Ask why")).to_be_visible()
    page.get_by_label("Sequence number").press("Escape")
    page.keyboard.press("w")
    expect(section).to_contain_text("verified in a fork", timeout=PATIENCE_MS)
    expect(section.get_by_role("heading", name="Why, and what would fix it")).to_be_focused()


def test_a_claim_is_explained_and_tried(page: Page) -> None:
    objects = [node("n"), claim("data"), volume("pv", accessModes=["ReadOnlyMany"])]
    run = finished_run(page, "why-claim", cluster_file("why-claim", *objects))
    page.goto(f"/runs/{run}/volumes/?claim=shop/data")
    card = asked(page)
    expect(card).to_contain_text("Let volume pv offer", timeout=PATIENCE_MS)
    fact = card.get_by_role("listitem").filter(has_text="spec.accessModes").last
    expect(fact).to_contain_text('spec.accessModes = ["ReadOnlyMany"]')
    expect(fact.get_by_role("link", name="volume pv")).to_be_visible()
    card.get_by_role("button", name=re.compile("^Try in a fork: Let volume pv offer")).press(
        "Enter"
    )
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    trial = page.get_by_role("region", name="Tried change")
    expect(trial).to_contain_text("It is bound to pv, as predicted.", timeout=PATIENCE_MS)
    expect(page.get_by_role("region", name="Binding of data")).to_contain_text("Bound to pv")
    expect(page.get_by_role("link", name=f"fork of #{run} at")).to_be_visible()


def test_a_released_volume_is_explained(page: Page) -> None:
    steps = [{"at": "5s", "delete": "claim/shop/data"}]
    objects = [node("n"), claim("data"), volume("pv")]
    run = finished_run(page, "why-volume", cluster_file("why-volume", *objects, steps=steps))
    page.goto(f"/runs/{run}/volumes/?volume=pv")
    card = asked(page)
    expect(card).to_contain_text(
        "Volume pv is Released: claim shop/data was deleted.", timeout=PATIENCE_MS
    )
    expect(card).to_contain_text("spec.claimRef.uid")


def test_a_terminating_claim_is_never_shown_as_bound(page: Page) -> None:
    steps = [{"at": "20s", "delete": "claim/shop/data"}]
    objects = [node("n"), claim("data"), volume("pv"), user("web", "data")]
    run = finished_board(page, "why-ending", cluster_file("why-ending", *objects, steps=steps))
    held = "blocked by the finalizer kubernetes.io/pvc-protection, because pod web uses it."
    expect(page.get_by_role("link", name=re.compile("data, Terminating"))).to_be_visible()
    page.goto(f"/runs/{run}/volumes/?claim=shop/data")
    row = page.get_by_role(
        "button", name=re.compile("data, .*Terminating since .*because pod web uses it")
    )
    expect(row).to_be_visible(timeout=PATIENCE_MS)
    expect(row.locator(".f-settled")).to_have_count(0)
    binding = page.get_by_role("region", name="Binding of data")
    expect(binding.locator(".step .f-settled")).to_have_count(0)
    card = asked(page)
    expect(card).to_contain_text("Pods that use it keep it: shop/web.", timeout=PATIENCE_MS)
    page.goto(f"/runs/{run}/pods/shop/web/")
    volumes = page.locator(".sec.volumes")
    expect(volumes).to_contain_text(held, timeout=PATIENCE_MS)
    page.goto(f"/runs/{run}/machines/?claim=shop/data")
    machine = page.get_by_role("region", name="Claim phases", exact=True)
    expect(machine).to_contain_text(held, timeout=PATIENCE_MS)
    expect(machine.locator("g.here.f-settled")).to_have_count(0)


def test_a_cordoned_node_is_explained(page: Page) -> None:
    cordoned = {**node("n"), "spec": {"unschedulable": True}}
    run = finished_run(page, "why-node", cluster_file("why-node", cordoned))
    page.goto(f"/runs/{run}/nodes/n/")
    card = why_card(page)
    expect(card.get_by_role("button", name="Ask why")).to_be_visible(timeout=PATIENCE_MS)
    page.keyboard.press("w")
    expect(card).to_contain_text("Node n is cordoned", timeout=PATIENCE_MS)
    expect(card).to_contain_text("spec.unschedulable = true")


def test_a_workload_shows_the_quota_that_refuses_it(page: Page) -> None:
    quota = policy("ResourceQuota", "small", "v1", hard={"pods": "1"})
    run = finished_run(page, "why-set", cluster_file("why-set", node("n"), quota, workload(2)))
    page.goto(f"/runs/{run}/objects/replicaset/shop/web/")
    card = asked(page)
    expect(card).to_contain_text("forbids one more", timeout=PATIENCE_MS)
    expect(card).to_contain_text("spec.replicas = 2 compared with 1")
    used = card.get_by_role("region", name="ResourceQuota shop/small")
    expect(used.get_by_role("row", name="pods 1 1")).to_be_visible()
    used.get_by_role("link", name="shop/small").click()
    expect(page).to_have_url(re.compile(r"/objects/resourcequota/shop/small/$"))
    own = page.get_by_role("region", name="ResourceQuota shop/small")
    expect(own.get_by_role("row", name="pods 1 1")).to_be_visible(timeout=PATIENCE_MS)


def test_a_budget_is_explained_and_tried(page: Page) -> None:
    selector = {"matchLabels": {"app": "web"}}
    budget = policy("PodDisruptionBudget", "keep", "policy/v1", minAvailable=1, selector=selector)
    run = finished_run(
        page, "why-budget", cluster_file("why-budget", node("n"), workload(1), budget)
    )
    page.goto(f"/runs/{run}/objects/poddisruptionbudget/shop/keep/")
    card = asked(page)
    expect(card).to_contain_text("allows 0 disruptions", timeout=PATIENCE_MS)
    card.get_by_role("button", name=re.compile("^Try in a fork: Run 2 replicas")).press("Enter")
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    trial = page.get_by_role("region", name="Tried change")
    expect(trial).to_contain_text("as predicted.", timeout=PATIENCE_MS)


def test_object_can_be_chosen_on_the_machines_page(page: Page) -> None:
    objects = [node("n"), claim("data"), user("web", "data")]
    run = finished_run(page, "why-machines", cluster_file("why-machines", *objects))
    page.goto(f"/runs/{run}/machines/?pod=shop/web&claim=shop/data")
    choice = page.get_by_role("group", name="Object to ask about")
    choice.get_by_role("button", name="Claim").click(timeout=PATIENCE_MS)
    expect(asked(page)).to_contain_text(
        "No volume without a class fits claim shop/data", timeout=PATIENCE_MS
    )


def test_a_failed_question_can_be_repeated(page: Page) -> None:
    run = finished_run(page, "why-again", cluster_file("why-again", node("n")))
    page.goto(f"/runs/{run}/nodes/n/")
    busy = {"status": 503, "json": {"detail": "Too many questions at once"}}

    def refuse(route: Route) -> None:
        route.fulfill(**busy)

    page.route("**/why/**", refuse)
    card = asked(page)
    expect(card.get_by_role("alert")).to_contain_text("Too many questions at once")
    page.unroute("**/why/**")
    card.get_by_role("button", name="Try again").click()
    expect(card).to_contain_text("Nothing is wrong with Node n.", timeout=PATIENCE_MS)


# Sends the first line of an answer as the server does, and the others when the test lets it.
_HELD_BACK = """
const fetched = window.fetch;
window.fetch = async (url, options) => {
  if (!String(url).includes("/why/")) return fetched(url, options);
  const lines = (await (await fetched(url, {})).text()).trim().split("\\n");
  options.signal.addEventListener("abort", () => { document.documentElement.dataset.asked = "no"; });
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    start(controller) {
      const send = (line) => controller.enqueue(encoder.encode(line + "\\n"));
      send(lines[0]);
      window.sendFix = () => send(lines[1]);
      window.sendRest = () => { lines.slice(2).forEach(send); controller.close(); };
      window.fail = (message) => { send(JSON.stringify({problem: {detail: message}})); controller.close(); };
    },
  });
  return new Response(body);
};
"""


def held_back(page: Page, name: str, *others: dict[str, Any]) -> Locator:
    """The card of a pod of a new run, whose answer has only begun."""
    page.add_init_script(_HELD_BACK)
    large = pod("large", cpu="2500m")
    finished_board(page, name, cluster_file(name, node("small", cpu="2"), large, *others))
    pod_button(page, "large").click()
    card = asked(page)
    expect(card).to_contain_text("cpu 500m short", timeout=PATIENCE_MS)
    return card


def test_causes_come_before_the_fixes(fresh_page: Page) -> None:
    card = held_back(fresh_page, "why-parts")
    expect(card).to_contain_text("Looking for what would help")
    offered = card.get_by_role("button", name=re.compile("^Apply: "))
    expect(offered).to_have_count(0)
    fresh_page.evaluate("window.sendFix()")
    expect(offered).to_have_count(1)
    expect(card).to_contain_text("Looking for what would help")
    fresh_page.evaluate("window.sendRest()")
    expect(card).not_to_contain_text("Looking for what would help")
    expect(card).to_contain_text(re.compile(r"changes? tried at event"))


def test_a_failure_keeps_the_causes(fresh_page: Page) -> None:
    card = held_back(fresh_page, "why-half")
    fresh_page.evaluate("window.fail('The engine ran out of memory.')")
    expect(card.get_by_role("alert")).to_contain_text("The engine ran out of memory.")
    expect(card).to_contain_text("cpu 500m short")
    expect(card.get_by_role("button", name="Try again")).to_be_visible()


def test_a_question_is_given_up_for_another_object(fresh_page: Page) -> None:
    card = held_back(fresh_page, "why-other", pod("other", cpu="3"))
    pod_button(fresh_page, "other").click()
    expect(fresh_page.locator("html[data-asked=no]")).to_have_count(1)
    expect(card).not_to_contain_text("cpu 500m short")
    expect(card.get_by_role("button", name="Ask why")).to_be_visible()


def test_an_answer_is_for_the_event_shown(page: Page) -> None:
    steps = [{"at": "5s", "delete": "claim/shop/data"}]
    objects = [node("n"), claim("data"), volume("pv")]
    run = finished_run(page, "why-past", cluster_file("why-past", *objects, steps=steps))
    events = page.request.get(f"/api/v1/runs/{run}/events/?kind=ClaimDeleted&limit=1").json()[
        "items"
    ]
    page.goto(f"/runs/{run}/volumes/?volume=pv&seq={events[0]['seq'] - 1}")
    card = asked(page)
    expect(card).to_contain_text("Nothing is wrong with PersistentVolume pv.", timeout=PATIENCE_MS)
    page.keyboard.press("End")
    expect(card).to_contain_text("is Released", timeout=PATIENCE_MS)
