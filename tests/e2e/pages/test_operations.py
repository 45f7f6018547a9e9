"""What an operator sees, and a run that another version of kscope recorded."""

import re

import psycopg
from playwright.sync_api import Page, expect

from kscope.up.address import read_run_file
from tests.e2e.conftest import Site
from tests.e2e.stories import PATIENCE_MS, finished_run, one_pod_too_many

READY = "() => fetch('/readyz').then((answer) => answer.ok)"


def test_the_operations_page_shows_who_is_at_work(page: Page) -> None:
    # `up` waits for the workers, not for their first report.
    page.goto("/")
    page.wait_for_function(READY, polling=100, timeout=PATIENCE_MS)
    page.goto("/operations/")
    expect(page.get_by_role("heading", name="Operations")).to_be_visible(timeout=PATIENCE_MS)
    processes = page.get_by_role("region", name="Processes")
    for role in ("web", "worker"):
        expect(processes.get_by_role("rowheader", name=role).first).to_be_visible()


def test_an_outdated_run_is_read_and_repeated(page: Page, site: Site) -> None:
    run = finished_run(page, "recorded", one_pod_too_many("recorded"))
    with psycopg.connect(read_run_file(site.data)["database_url"], autocommit=True) as database:
        # As if another version had recorded it, which did something else as event 9.
        for statement in (
            "UPDATE runs_eventchunk SET messages[10 - first_seq] = 'otherwise'"
            " WHERE run_id = %s AND 9 BETWEEN first_seq AND last_seq",
            "UPDATE runs_checkpoint SET engine_digest = '' WHERE run_id = %s",
            "UPDATE runs_run SET engine_digest = '', lease_epoch = lease_epoch + 1 WHERE id = %s",
        ):
            database.execute(statement, [run])
    page.goto(f"/runs/{run}/")
    page.get_by_role("button", name=re.compile("^Play")).click()
    banner = page.get_by_role("status").filter(has_text="Read only")
    expect(banner).to_contain_text("From event 9 on", timeout=PATIENCE_MS)
    banner.get_by_role("button", name="Run again with this version").click()
    expect(page).not_to_have_url(re.compile(rf"/runs/{run}/"), timeout=PATIENCE_MS)
    expect(page.get_by_role("link", name=re.compile(f"fork of #{run} at"))).to_be_visible()
    expect(banner).to_have_count(0)
