"""No page breaks a rule of axe-core, whatever its impact: live in light, in the past in dark."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Site, new_context
from tests.e2e.stories import cluster_file, finished_run, log_in, pod, upload

_ROOT = Path(__file__).parents[2]
_AXE = _ROOT / "node_modules" / "axe-core" / "axe.min.js"
_DEMO = _ROOT / "scenarios" / "half-bound.yaml"
_BROUGHT = Path(__file__).parents[1] / "data" / "prod-eu.yaml"

_AT_AN_EVENT = (
    "",
    "machines/",
    "pods/",
    "pods/shop/orders-0/",
    "volumes/?pod=shop/orders-0&claim=shop/orders",
    "nodes/",
    "nodes/{node}/",
    "inside/scheduler/?pod=shop/orders-0",
    "inside/scheduler/?cycle=1&step=filter",
    "inside/scheduler/?cycle=1&step=assume",
    "inside/volumes/?claim=shop/orders",
    "inside/volumes/?node={node}",
    "timeline/?pod=shop/orders-0",
    "timeline/?as=table",
    "film/?cycle=3&step=score",
    "film/?claim=shop/orders",
    "objects/claim/shop/orders/",
    "edit/",
    "edit/?object=pod/shop/orders-0",
    "configuration/",
)
_OF_THE_SITE = (
    *("/", "/runs/", "/stories/", "/stories/?q=nothing+has+this", "/concepts/", "/versions/"),
    *("/glossary/", "/lessons/", "/scenarios/upload/", "/scenarios/1/start/"),
    *("/login/", "/api/docs/"),
    *("/operations/", "/nowhere/", "/runs/999999/"),
)
_OF_AN_ACCOUNT = (
    *("/account/", "/account/password/", "/admin/", "/admin/runs/run/", "/admin/runs/scenario/"),
    *("/admin/auth/user/", "/admin/auth/user/add/", "/admin/scheduling/pod/"),
)
_EMPTY = (
    *("pods/?name=nobody", "nodes/?name=nobody", "volumes/?find=nobody", "pods/shop/nobody/"),
    *("nodes/nobody/", "objects/pod/shop/nobody/", "?seq=999999", "connect/", "agreement/"),
)
# A page that says why it cannot show what was asked for waits no more.
_WAITING = (
    "main[aria-busy=true], main.waiting:not(:has([role=alert])), main.inside [role=status],"
    " main.compare > [role=status]"
)


def _violations(page: Page) -> list[str]:
    """What axe-core finds: rule, impact and the first elements of each."""
    # By the protocol of the browser: a script element would be against the policy of the site.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{page.url}: {rule['id']} ({rule['impact']}), {len(rule['nodes'])} times: "
        + "; ".join(f"{each['target']} {each['html'][:160]}" for each in rule["nodes"][:3])
        for rule in found
    ]


def _look_at(page: Page, address: str) -> list[str]:
    """The violations of the page at *address*, once it shows what it is about."""
    page.goto(address)
    expect(page.locator("main")).to_be_visible()
    expect(page.locator(_WAITING)).to_have_count(0)
    return _violations(page)


def _theme(page: Page, name: str) -> None:
    page.evaluate("name => localStorage.setItem('theme', name)", name)


@pytest.fixture
def run(page: Page) -> int:
    """The demo, played to its end."""
    return finished_run(page, "axe", _DEMO.read_bytes())


def test_pages_of_the_site_break_no_rule(page: Page, site: Site) -> None:
    found = [each for address in _OF_THE_SITE for each in _look_at(page, address)]
    assert found == [], "\n".join(found)


def test_pages_of_an_account_break_no_rule(browser: Browser, site: Site, run: int) -> None:
    # Not the watched page: in long forms axe-core itself tries styles that the policy refuses.
    with closing(new_context(browser, site.address)) as context:
        found = _of_an_account(context.new_page(), site.password, run)
    assert found == [], "\n".join(found)


def _of_an_account(page: Page, password: str, run: int) -> list[str]:
    log_in(page, password)
    found = [each for address in _OF_AN_ACCOUNT for each in _look_at(page, address)]
    found += _look_at(page, f"/admin/runs/run/{run}/change/")
    found += _look_at(page, f"/admin/scheduling/pod/add/?run={run}")
    found += _look_at(page, f"/admin/scheduling/node/?run__id__exact={run}")
    page.locator("#result_list tbody a").first.click()
    expect(page.get_by_role("textbox", name="Manifest")).to_be_visible()
    found += _violations(page)
    page.goto(f"/admin/scheduling/node/?run__id__exact={run}")
    page.locator("#action-toggle").check()
    page.get_by_label("Action:").select_option("taint")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.get_by_label("Effect")).to_be_visible()
    found += _violations(page)
    page.goto(f"/runs/{run}/")
    return found + _opened(page, "#share", "Who may see this run")


def _opened(page: Page, button: str, dialog: str) -> list[str]:
    """The violations of a page with a dialog over it."""
    page.locator(button).first.click()
    expect(page.get_by_role("dialog", name=dialog)).to_be_visible()
    found = _violations(page)
    page.keyboard.press("Escape")
    return found


def test_dialogs_break_no_rule(page: Page, run: int) -> None:
    page.goto(f"/runs/{run}/")
    expect(page.locator(_WAITING)).to_have_count(0)
    found = _opened(page, "#fork-here", "Fork here")
    found += _opened(page, "#budget-open", "Budget of this run")
    found += _opened(page, "[data-delete]", "Delete")
    found += _opened(page, "[aria-label='Keyboard shortcuts']", "Keyboard shortcuts")
    page.goto(f"/runs/{run}/pods/shop/orders-0/")
    page.locator(".mx button").first.click()
    expect(page.locator("#cell")).to_be_visible()
    found += _violations(page)
    assert found == [], "\n".join(found)


def test_empty_and_failing_pages_break_no_rule(page: Page, run: int) -> None:
    found = [each for path in _EMPTY for each in _look_at(page, f"/runs/{run}/{path}")]
    upload(page, "bad", cluster_file("bad", pod("broken", cpu="12 potatoes")))
    found += _violations(page)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(("theme", "at"), [("light", ""), ("dark", "seq={middle}")])
def test_pages_of_a_run_break_no_rule(page: Page, run: int, theme: str, at: str) -> None:
    state = page.request.get(f"/api/v1/runs/{run}/").json()
    page.goto("/")
    _theme(page, theme)
    moment = at.format(middle=state["head"] // 2)
    node = "node-1"
    found = []
    for path in _AT_AN_EVENT:
        joint = "&" if "?" in path else "?"
        found += _look_at(page, f"/runs/{run}/{path.format(node=node)}{joint}{moment}")
    assert found == [], "\n".join(found)


def test_a_comparison_breaks_no_rule(page: Page, run: int) -> None:
    other = finished_run(page, "axe-2", _DEMO.read_bytes())
    found = _look_at(page, f"/runs/{run}/compare/?with={other}")
    assert found == [], "\n".join(found)


def test_pages_of_an_import_break_no_rule(page: Page) -> None:
    upload(page, "prod-eu", _BROUGHT.read_bytes())
    found = _violations(page)
    page.locator("a[data-page=triage]").click()
    expect(page.locator("main.triage[aria-busy=false]")).to_be_visible()
    found += _violations(page)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_lesson_breaks_no_rule(page: Page, theme: str) -> None:
    page.goto("/")
    _theme(page, theme)
    page.goto("/lessons/a-disk-that-cannot-move/?step=3")
    expect(page.locator(".choice")).to_have_count(2)
    found = _violations(page)
    page.keyboard.press("1")
    expect(page.locator(".choice.answer")).to_be_visible()
    found += _violations(page)
    assert found == [], "\n".join(found)
