"""`make screenshots`: take every picture; `PICTURES="board film"` takes those of some pages."""

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.docs.documents import ROOT
from tests.e2e.conftest import find_browser, launch
from tests.pictures.scenes import README, SCENES
from tests.pictures.taking import pictures
from tests.up.up_process import Up

ALL, COMMITTED = ROOT / "build" / "pictures", ROOT / "docs" / "pictures"


def main() -> int:
    """Take them, and print where they are and how large."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *(each.name for each in SCENES)])
    names = tuple(parser.parse_args().names)
    for folder in (ALL, COMMITTED):
        folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="kscope-pictures-") as room,
        sync_playwright() as driver,
    ):
        Path(room).chmod(0o755)
        with Up(Path(room, "data")) as up, closing(launch(driver, find_browser())) as browser:
            up.wait_until_serving()
            for name, data in pictures(browser, f"http://localhost:{up.port}/", names):
                keep(name, data)
    return 0


def keep(name: str, data: bytes) -> None:
    """Write a picture to where the site, and perhaps the README, look for it."""
    path = ALL / f"{name}.webp"
    path.write_bytes(data)
    print(f"{path.relative_to(ROOT)}: {len(data):,} bytes", flush=True)
    scene, _, rest = name.partition("-")
    if scene in README and rest == "light-1280":
        (COMMITTED / f"{scene}.webp").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
