"""`make walk SEED=7`: every page of every demo at random instants, and a list of what is wrong.

Exits with 1 if anything is. `--demos "Checkout surge,All or none"` takes some of the demos, `--pages board,node` some of the pages.
"""

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.e2e.conftest import find_browser, launch, new_context
from tests.up.up_process import Up
from tests.walk.runs import demos, play
from tests.walk.walk import Walker

SITE = (
    "/",
    "/runs/",
    "/stories/",
    "/lessons/",
    "/concepts/",
    "/versions/",
    "/glossary/",
    "/scenarios/upload/",
    "/login/",
    "/operations/",
)


def main() -> int:
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="kscope-walk-") as folder, sync_playwright() as driver:
        Path(folder).chmod(0o755)
        with Up(Path(folder, "data")) as up, closing(launch(driver, find_browser())) as browser:
            up.wait_until_serving()
            context = new_context(browser, f"http://localhost:{up.port}/")
            page = context.new_page()
            walker = Walker(page, asked.seed, lambda line: print(line, file=sys.stderr, flush=True))
            for demo, scenario in demos(page.request).items():
                if not asked.demos or demo in asked.demos:
                    run = play(page.request, demo, scenario)
                    walker.walk_run(run, asked.instants, asked.pages)
            walker.walk_site(SITE)
    print(f"seed {asked.seed}\n{walker.report}")
    return int(bool(walker.report.findings))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make walk", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instants", type=int, default=20, help="of each page of each demo")
    parser.add_argument("--demos", type=lambda text: text.split(","), default=[])
    parser.add_argument("--pages", type=lambda text: text.split(","), default=[])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
