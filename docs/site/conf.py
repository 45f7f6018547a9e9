"""How the site of the documents is built: `make docs`, by Sphinx with MyST and the theme Furo.

The source is the repository itself, so that a link means the same here and where files are listed.
Nothing is fetched: neither when the site is built, nor by who reads it.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from pygments.lexers import JsonLexer

ROOM = Path(__file__).resolve().parents[2]
# What `make screenshots` writes, as seen from ROOM.
PICTURES = "build/pictures"
PICTURE = re.compile(r"^<!-- picture: ([\w-]+): (.+) -->$", re.MULTILINE)

project = "kscope"
version = tomllib.loads((ROOM / "pyproject.toml").read_text())["project"]["version"]
copyright = "the authors of kscope, Apache-2.0"

extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md", "docs/**.md"]
# What is not walked through.
exclude_patterns = [each.name for each in ROOM.iterdir() if each.is_dir() and each.name != "docs"]

# Links lead to headings, as they do where Markdown is shown: a wrong one is a warning, which fails.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
highlight_language = "none"
nitpicky = True

html_theme = "furo"
html_title = f"kscope {version}"
html_favicon = "../../static/favicon.svg"
html_static_path = [
    "site.css",
    *(
        f"../../node_modules/@fontsource-variable/{name}/files/{name}-latin-wght-normal.woff2"
        for name in ("inter", "jetbrains-mono")
    ),
]
html_css_files = ["site.css"]
html_additional_pages = {"index": "first.html"}
templates_path = ["."]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00629a", "color-brand-content": "#00629a"},
    "dark_css_variables": {"color-brand-primary": "#79bff0", "color-brand-content": "#79bff0"},
}


def setup(app: Any) -> None:
    """Let pages show the pictures that there are, and colour JSON lines."""
    app.add_lexer("jsonl", JsonLexer)
    app.connect("source-read", put_pictures)


def put_pictures(app: Any, name: str, source: list[str]) -> None:
    """Put the picture in the place of `<!-- picture: NAME: what it shows -->`, where there is one."""
    source[0] = PICTURE.sub(_shown, source[0])


def _shown(found: re.Match[str]) -> str:
    """A light and a dark one of those that were taken, or else the one of the README."""
    name, text = found.groups()
    taken = {theme: f"{PICTURES}/{name}-{theme}-1280.webp" for theme in ("light", "dark")}
    if all((ROOM / path).exists() for path in taken.values()):
        return "\n\n".join(_image(path, text, f"only-{theme}") for theme, path in taken.items())
    path = f"docs/pictures/{name}.webp"
    return _image(path, text, "picture") if (ROOM / path).exists() else ""


def _image(path: str, text: str, kind: str) -> str:
    return f":::{{image}} /{path}\n:alt: {text}\n:class: {kind}\n:::"
