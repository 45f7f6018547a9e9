"""Compiles the catalogues of a folder, `LANGUAGE/LC_MESSAGES/DOMAIN.po`, to the .mo beside them.

`python -m kscope.words.compiling` does it for those of kscope. Python reads no other form, and no
compiled file is committed: `make setup` and the Dockerfile compile. English needs no catalogue.
"""

import sys
from pathlib import Path

import polib

LOCALE = Path(__file__).resolve().parents[1] / "locale"


def compile_catalogues(folder: Path) -> list[Path]:
    """Write each .mo that is missing or older than its .po; what was written."""
    written: list[Path] = []
    for source in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            polib.pofile(str(source)).save_as_mofile(str(target))
            written.append(target)
    return written


def main() -> int:
    """Compile those of kscope."""
    for path in compile_catalogues(LOCALE):
        sys.stdout.write(f"compiled {path.parent.parent.name} {path.stem}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
