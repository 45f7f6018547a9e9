"""Going another way from an instant on, and laying both ways beside each other."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many
from tests.waiting import wait_for


def api(page: Page, path: str, body: dict[str, Any] | None = None) -> Any:
    """What the API answers, to a POST where there is a body."""
    address = f"/api/v1/runs/{path}"
    answer = page.request.get(address) if body is None else page.request.post(address, data=body)
    return answer.json()


def first(page: Page, run: int, kind: str) -> int:
    """The seq of the first event of a kind."""
    return api(page, f"{run}/events/?kind={kind}&limit=1")["items"][0]["seq"]


def cordoned_fork(page: Page, run: int) -> int:
    """A fork before the first attempt, in which no pod gets a node; played to its end."""
    fork = api(page, f"{run}/fork/", {"seq": first(page, run, "AttemptStarted") - 1})["id"]
    api(page, f"{fork}/commands/", {"verb": "cordon", "object": "node/small"})
    wait_for(lambda: api(page, f"{fork}/commands/")["items"][0]["status"] == "applied")
    api(page, f"{fork}/transport/", {"action": "play", "speed": "max"})
    wait_for(lambda: api(page, f"{fork}/")["status"] != "playing")
    return fork


def test_a_fork_is_made_where_one_is_looking(page: Page) -> None:
    run = finished_run(page, "forked", one_pod_too_many("forked"))
    seq = first(page, run, "PodBound")
    page.goto(f"/runs/{run}/pods/shop/big-0/?seq={seq}")
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Fork here").click()
    form = page.get_by_role("dialog", name="Fork here")
    expect(form).to_contain_text(f"after event {seq}")
    form.get_by_label("Name").fill("another way")
    form.get_by_role("button", name="Create fork").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page).to_have_url(re.compile(r"/runs/\d+/pods/shop/big-0/$"))
    parent = page.get_by_role("link", name=f"fork of #{run} at")
    expect(parent).to_have_attribute("href", f"/runs/{run}/?seq={seq}")
    expect(page.get_by_label("Sequence number")).to_have_value(str(seq), timeout=PATIENCE_MS)
    page.goto("/runs/")
    row = page.get_by_role("row").filter(has_text="another way")
    expect(row.get_by_role("link", name=f"fork of #{run} at")).to_be_visible()
    # However long its name is: the table scrolls, and not the page.
    page.set_viewport_size({"width": 390, "height": 844})
    row.locator("a.name").evaluate("link => { link.textContent = 'a-long-name-'.repeat(9); }")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_two_runs_are_compared_from_their_fork(page: Page) -> None:
    run = finished_run(page, "compared", one_pod_too_many("compared"))
    fork = cordoned_fork(page, run)
    page.goto(f"/runs/{run}/")
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name=re.compile(f"^#{fork} ")).click()
    answer = page.get_by_role("region", name="First difference")
    expect(answer).to_contain_text("NodeCordoned node/small, by a command", timeout=PATIENCE_MS)
    expect(answer).to_contain_text(f"because #{fork} could not use small")
    numbers = page.get_by_role("region", name="Numbers")
    expect(numbers.get_by_role("row").filter(has_text="Bound").first).to_contain_text("−1")
    elsewhere = page.get_by_role("region", name="Placement differences", exact=True)
    expect(elsewhere.get_by_role("row")).to_have_count(2)
    events = page.get_by_role("region", name="Events side by side", exact=True)
    expect(events.get_by_role("row").filter(has_text="NodeCordoned")).to_be_visible()
    answer.get_by_role("button", name="Jump to the first difference").click()
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    expect(elsewhere).to_contain_text("none", timeout=PATIENCE_MS)


def test_one_button_repeats_under_another_profile(page: Page) -> None:
    run = finished_run(page, "profiles", one_pod_too_many("profiles"))
    page.goto(f"/runs/{run}/compare/")
    page.get_by_role("button", name="Replay with version v1.16 and compare").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/compare/\?with=\d+$"), timeout=PATIENCE_MS)
    histories = page.get_by_role("region", name="Histories")
    expect(histories).to_contain_text("v1.16", timeout=PATIENCE_MS)
    numbers = page.get_by_role("region", name="Numbers")
    expect(numbers.get_by_role("row").filter(has_text="Bound").first).to_contain_text("2")


def test_a_change_is_tried_in_a_fork(page: Page) -> None:
    run = finished_run(page, "tried", one_pod_too_many("tried"))
    page.goto(f"/runs/{run}/pods/shop/big-2/")
    page.get_by_role("button", name="Ask why").click(timeout=PATIENCE_MS)
    # Later changes are added above and below: by key, once all of them are there.
    expect(page.get_by_text(re.compile("changes? tried at event"))).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.get_by_role("button", name="Try in a fork: ").first.press("Enter", timeout=PATIENCE_MS)
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page.get_by_role("link", name=f"fork of #{run} at")).to_be_visible()
    expect(page.locator(".pagehead")).to_contain_text("bound to", timeout=PATIENCE_MS)
    fork = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert api(page, f"{fork}/events/?order=desc&limit=1")["items"][0]["object"] == "pod/shop/big-2"
    assert api(page, f"{run}/")["head"] == api(page, f"{fork}/")["forked_seq"]
