"""The table of what differs between versions, filtered by a person."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site


def test_filters_leave_the_rules_that_differ(page: Page, site: Site) -> None:
    page.goto(f"{site.address}versions/")
    expect(page.get_by_text(re.compile(r"^(\d+) of \1 rules$"))).to_be_visible()
    page.get_by_label("Area").select_option("Queue")
    hints = page.locator("#queue-hints")
    expect(hints.get_by_role("cell")).to_have_text(["yes"] * 5 + ["no"] * 3)
    page.get_by_label("Only differences").check()
    expect(page.locator("#queue-leftover-flush-period")).to_be_hidden()
    for version in ("v1.37", "v1.36", "v1.35", "v1.34.9", "v1.34"):
        page.get_by_label(version, exact=True).uncheck()
    expect(hints).to_be_hidden()
    expect(page.locator("#queue-status-counts").get_by_role("cell")).to_have_text(
        ["yes", "no", "no"]
    )
    expect(page.get_by_role("columnheader", name="v1.34", exact=True)).to_be_hidden()
    page.reload()
    expect(page.get_by_label("Area")).to_have_value("Queue")
    expect(page.get_by_label("Only differences")).to_be_checked()
    expect(page.get_by_role("columnheader", name="v1.34", exact=True)).to_be_hidden()
