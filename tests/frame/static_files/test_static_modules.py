"""The import map and the style sheet of typefaces name what the server hands out."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template import Context, Template

from kscope.static_files.finder import PREFIX, ModuleFinder, static_names
from kscope.static_files.modules import EDITOR_MODULES, MODULES, PAGE_MODULES


def test_the_import_map_names_existing_files() -> None:
    html = Template("{% load kscope_static %}{% importmap %}").render(Context({"CSP_NONCE": "n"}))
    match = re.fullmatch(r'<script type="importmap" nonce="n">(.*)</script>', html, re.DOTALL)
    assert match
    imports = json.loads(match[1])["imports"]
    assert set(imports) == {*MODULES, "#words"}
    for address in imports.values():
        assert finders.find(unquote(address).removeprefix(settings.STATIC_URL)), address


def _preloaded(script: str) -> set[str]:
    text = f"{{% load kscope_static %}}{{% modulepreload '{script}' %}}"
    html = Template(text).render(Context())
    return {unquote(href) for href in re.findall(rf'href="{settings.STATIC_URL}([^"]+)"', html)}


def test_all_modules_of_a_page_are_preloaded() -> None:
    preloaded = _preloaded("js/board.js")
    assert {
        "js/controllers/session/run_session.js",
        "js/model/shared/fold.js",
        *(PREFIX + file for file in PAGE_MODULES.values()),
    } <= preloaded
    assert all(finders.find(name) for name in preloaded)


def test_only_pages_with_an_editor_load_one() -> None:
    editor = {PREFIX + file for file in EDITOR_MODULES.values()}
    assert not editor & _preloaded("js/board.js")
    assert editor <= _preloaded("js/edit.js")


def test_the_map_names_whatever_packages_import() -> None:
    for file in MODULES.values():
        text = Path(str(finders.find(PREFIX + file))).read_text()
        imported = re.findall(
            r"""^(?:import|export)\b[^'"\n;]*\bfrom ["']([^"'.][^"']*)["']""", text, re.M
        )
        assert set(imported) <= set(MODULES), file


def test_the_typefaces_are_preloaded_and_served() -> None:
    links = Template("{% load kscope_static %}{% preload_typefaces %}").render(Context())
    preloaded = {
        unquote(href).removeprefix(settings.STATIC_URL)
        for href in re.findall(r'href="([^"]+)"', links)
    }
    sheet = Path(str(finders.find("css/fonts.css"))).read_text()
    named = {f"vendor/{name}" for name in re.findall(r'url\("\.\./vendor/([^"]+)"\)', sheet)}
    assert len(named) == 2
    assert preloaded == named
    assert all(finders.find(name) for name in named)


def test_other_files_of_node_modules_are_not_served() -> None:
    assert finders.find("vendor/preact/package.json") is None


def test_only_the_files_of_the_map_are_listed() -> None:
    listed = {f"vendor/{name}" for name, _ in ModuleFinder().list(None)}
    assert listed == set(static_names())
