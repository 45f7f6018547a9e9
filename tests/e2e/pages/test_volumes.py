"""Volumes: the chains of a run, and the binding of one claim with its candidates."""

import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from tests.e2e.stories import PATIENCE_MS, agree, finished_run

DEMO = Path(__file__).parents[3] / "scenarios" / "half-bound.yaml"


def half_bound(page: Page, name: str) -> int:
    """A run of the demo, played to its end."""
    return finished_run(page, name, DEMO.read_bytes())


def test_a_half_bound_claim_links_to_the_refusal(
    page: Page,
) -> None:
    run = half_bound(page, "volumes")
    page.goto(f"/runs/{run}/volumes/?pod=shop/orders-0&claim=shop/orders")
    binding = page.get_by_role("region", name="Binding of orders")
    expect(binding).to_contain_text(
        "Bound to pv-gold: claim and volume refer to each other.", timeout=PATIENCE_MS
    )
    refused = binding.get_by_role("listitem").filter(has_text="4 times").last
    refused.get_by_role("link").click()
    expect(page.get_by_text("Viewing the past")).to_be_visible(timeout=PATIENCE_MS)
    expect(binding).to_contain_text(
        "pv-gold is reserved for this claim, but the claim's volumeName is not set yet"
    )
    expect(binding).to_contain_text("2 of 4 writes done, two on each object")
    chain = page.get_by_role("row").filter(has=page.get_by_role("button", name="shop/orders"))
    expect(
        chain.get_by_role("img", name=re.compile("^half-bound: the volume's claimRef is set"))
    ).to_be_visible()
    candidates = page.get_by_role("region", name="Candidate volumes", exact=True)
    first = candidates.get_by_role("row").nth(1)
    expect(first).to_contain_text("the first that fits: 10Gi for 10Gi", timeout=PATIENCE_MS)
    expect(candidates).to_contain_text("label tier in (gold) is not met: tier=bronze")


def test_broken_chains_can_be_selected(page: Page) -> None:
    run = half_bound(page, "volumes-broken")
    page.goto(f"/runs/{run}/volumes/")
    page.get_by_role("button", name="Broken 2").click(timeout=PATIENCE_MS)
    expect(page.get_by_role("status").filter(has_text="2 of 8 rows")).to_be_visible()
    page.get_by_role("button", name="ci/archive, 4 Gi, Lost").press("Enter")
    expect(page).to_have_url(f"/runs/{run}/volumes/?rows=broken&claim=ci/archive")
    expect(page.get_by_text("Lost: its volume pv-archive was deleted at 20.000 s.")).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.get_by_role("button", name=re.compile("^pv-scratch, .*Released$")).click()
    expect(page).to_have_url(f"/runs/{run}/volumes/?rows=broken&volume=pv-scratch")
    expect(page.get_by_text("Released: its claim shop/scratch was deleted")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Apply: Remove the claimRef")).click()
    agree(page)
    page.get_by_role("button", name="All 8").click()
    expect(page.get_by_role("button", name=re.compile("^pv-scratch, .*Available$"))).to_be_visible(
        timeout=PATIENCE_MS
    )


def test_claims_of_pods_come_below_what_is_above(page: Page) -> None:
    run = half_bound(page, "volumes-late")
    held: list[Route] = []
    page.route("**/attempts/?*", lambda route: held.append(route))
    page.goto(f"/runs/{run}/pods/shop/orders-0/")
    expect(page.get_by_role("region", name="Life of the pod")).to_be_visible(timeout=PATIENCE_MS)
    claim = page.get_by_role("link", name="orders", exact=True)
    expect(claim).to_have_count(0)
    page.route("**/attempts/?*", lambda route: route.continue_())
    for route in held:
        route.continue_()
    expect(claim).to_be_visible(timeout=PATIENCE_MS)
    assert page.get_by_role("region", name="Attempts").is_visible()


def test_board_and_pod_page_link_to_claims(page: Page) -> None:
    run = half_bound(page, "volumes-links")
    page.goto(f"/runs/{run}/pods/shop/orders-0/")
    page.get_by_role("link", name="orders", exact=True).click(timeout=PATIENCE_MS)
    expect(page).to_have_url(f"/runs/{run}/volumes/?pod=shop/orders-0&claim=shop/orders")
    page.goto(f"/runs/{run}/")
    page.get_by_role("link", name=re.compile("^Claim ci.archive, ")).click(timeout=PATIENCE_MS)
    expect(page.get_by_role("region", name="Binding of archive")).to_be_visible(timeout=PATIENCE_MS)
