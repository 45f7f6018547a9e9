"""`make walk SEED=7`: every page of every demo at random instants, and a list of what is wrong.

Exits with 1 if anything is. `--demos "Checkout surge;All or none"` takes some of the demos, `--part 1/2` every second one from the first, `--pages board,node`
some of the pages.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

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
    "/account/",
    "/account/password/",
    "/operations/",
)
LISTS = ("/stories/", "/lessons/", "/concepts/")
"""Pages that link to pages of their own below them."""


def main() -> int:
    asked = _asked()
    with tempfile.TemporaryDirectory(prefix="kscope-walk-") as folder, sync_playwright() as driver:
        Path(folder).chmod(0o755)
        with Up(Path(folder, "data")) as up, closing(launch(driver, find_browser())) as browser:
            up.wait_until_serving()
            context = new_context(browser, f"http://localhost:{up.port}/")
            page = context.new_page()
            walker = Walker(page, asked.seed, lambda line: print(line, file=sys.stderr, flush=True))
            part, parts = asked.part
            for demo, scenario in list(demos(page.request).items())[part - 1 :: parts]:
                if not asked.demos or demo in asked.demos:
                    run = play(page.request, demo, scenario)
                    walker.walk_run(run, asked.instants, asked.pages)
            if part == 1 and not asked.pages:
                walker.walk_site((*SITE, *below(page, LISTS)))
    print(f"seed {asked.seed}\n{walker.report}")
    return int(bool(walker.report.findings))


def below(page: Page, lists: Iterable[str]) -> list[str]:
    """The addresses to which the pages *lists* link below themselves: each story, lesson and concept."""
    found: dict[str, None] = {}
    for path in lists:
        page.goto(path)
        links = page.locator(f"main a[href^='{path}']")
        found |= dict.fromkeys(links.evaluate_all("links => links.map(({pathname}) => pathname)"))
    return [path for path in found if path not in lists]


def _part(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    return part, parts


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make walk", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instants", type=int, default=20, help="of each page of each demo")
    parser.add_argument("--demos", type=lambda text: text.split(";"), default=[])
    parser.add_argument(
        "--part", type=_part, default=(1, 1), help="1/2: the first half of the demos"
    )
    parser.add_argument("--pages", type=lambda text: text.split(","), default=[])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
