"""Every page keeps to the content security policy; the fixture `page` fails the test otherwise."""

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import PATIENCE_MS, log_in, one_pod_every_ten_seconds, playing_run


def test_no_page_of_a_run_breaks_the_policy(page: Page) -> None:
    run = playing_run(page, "policy-story", one_pod_every_ten_seconds("policy-story"))
    for path in (
        "",
        *("machines/", "pods/", "volumes/", "nodes/", "timeline/", "compare/"),
        *("nodes/only/", "pods/default/first/", "?seq=5"),
        *("edit/", "configuration/"),
    ):
        page.goto(f"/runs/{run}/{path}")
        expect(page.locator("h1").first).to_be_attached()
        expect(page.get_by_text("Reading the state of the run")).to_have_count(
            0, timeout=PATIENCE_MS
        )


def test_no_page_of_the_site_breaks_the_policy(page: Page) -> None:
    for path in (
        "/",
        "/runs/",
        "/stories/",
        "/api/docs/",
        "/glossary/",
        "/scenarios/upload/",
        "/login/",
        "/nowhere/",
    ):
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()


def test_no_page_of_the_admin_breaks_the_policy(page: Page, site: Site) -> None:
    run = playing_run(page, "admin-story", one_pod_every_ten_seconds("admin-story"))
    log_in(page, site.password)
    for path in (
        "/admin/",
        "/admin/runs/run/",
        "/admin/runs/eventrecord/?q=PodBound",
        f"/admin/scheduling/node/?run__id__exact={run}",
        f"/admin/scheduling/node/add/?run={run}",
        f"/admin/runs/command/?run__id__exact={run}",
        "/admin/auth/user/",
        "/admin/auth/user/add/",
        "/admin/auth/user/1/change/",
        "/admin/accounts/token/",
        "/account/",
        "/account/password/",
    ):
        page.goto(path)
        expect(page.locator("h1, #site-name").first).to_be_visible()
    page.goto(f"/admin/scheduling/node/?run__id__exact={run}")
    page.get_by_role("link", name="only", exact=True).first.click()
    expect(page.get_by_label("Taints")).to_be_visible()


def test_an_inline_script_is_not_run(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    told: list[str] = []
    page.on("console", lambda each: told.append(each.text))
    answer = page.goto("/")
    assert answer is not None
    assert "unsafe" not in answer.headers["content-security-policy"]
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
        }"""
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in each for each in told)
    context.close()
