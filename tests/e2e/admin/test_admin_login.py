"""The password that the first start prints opens the admin."""

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site


def test_the_printed_password_opens_the_admin(page: Page, site: Site) -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(site.password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
