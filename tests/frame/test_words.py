"""Catalogues of words: how they are made, chosen and handed to the browser."""

import gettext
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polib
import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import Client
from django.utils import translation

from kscope.words import catalogue
from kscope.words.compiling import LOCALE, compile_catalogues
from kscope.words.pseudo import pseudo, write_pseudo

ROOM = Path(__file__).resolve().parents[2]
GERMAN = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

msgid "Open {pod}"
msgstr "{pod} öffnen"

msgid "{count} pod"
msgid_plural "{count} pods"
msgstr[0] "{count} Pod"
msgstr[1] "{count} Pods"
"""


@pytest.fixture
def german(tmp_path: Path, settings: Any) -> str:
    """A language with two messages of the browser."""
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "djangojs.po").write_text(GERMAN)
    assert compile_catalogues(tmp_path) == [folder / "djangojs.mo"]
    settings.LOCALE_PATHS = [tmp_path]
    settings.LANGUAGES = [*settings.LANGUAGES, ("de", "Deutsch")]
    catalogue.module_text.cache_clear()
    translation.trans_real.get_languages.cache_clear()
    yield "de"
    catalogue.module_text.cache_clear()
    translation.trans_real.get_languages.cache_clear()


def exported(text: str) -> dict[str, str]:
    """What a module exports, as it is written."""
    return dict(re.findall(r"^export const (\w+) = (.*);$", text, re.MULTILINE))


def test_a_catalogue_becomes_a_module(german: str) -> None:
    found = exported(catalogue.module_text(german))
    assert json.loads(found["messages"]) == {
        "Open {pod}": ["{pod} öffnen"],
        "{count} pod": ["{count} Pod", "{count} Pods"],
    }
    assert found["plural"] == "(n) => (n != 1)"
    assert found["language"] == '"de"'


def test_english_needs_no_sentence_translated() -> None:
    found = exported(catalogue.module_text("en-gb"))
    assert json.loads(found["messages"]) == {}
    static = exported((ROOM / "static/js/lib/english.js").read_text())
    assert set(static) == set(found)


def test_a_rule_of_plurals_is_arithmetic() -> None:
    rule = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
    assert catalogue.checked_rule(rule) == rule
    with pytest.raises(ValueError, match="no rule of plurals"):
        catalogue.checked_rule("fetch('/')")


def test_the_import_map_names_the_language(german: str) -> None:
    with translation.override(german):
        page = Template("{% load kscope_static %}{% importmap %}").render(Context())
    assert re.search(r'"#words": "/words/de/[0-9a-f]{12}\.js"', page)


def test_a_language_is_kept_for_good(german: str, client: Client) -> None:
    with translation.override(german):
        address = catalogue.words_address()
    answer = client.get(address)
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert "immutable" in answer["Cache-Control"]
    assert "immutable" not in client.get("/words/de/0123456789ab.js")["Cache-Control"]
    assert client.get("/words/xx/0123456789ab.js").status_code == 404


@pytest.mark.django_db
def test_the_browser_says_its_language(german: str, client: Client) -> None:
    page = client.get("/login/", headers={"Accept-Language": "de, en;q=0.5"})
    assert '<html lang="de"' in page.content.decode()
    other = client.get("/login/", headers={"Accept-Language": "xx"})
    assert '<html lang="en-gb"' in other.content.decode()


def test_only_changed_catalogues_are_compiled(german: str) -> None:
    (folder,) = settings.LOCALE_PATHS
    assert compile_catalogues(folder) == []


def test_pseudo_words_keep_their_places() -> None:
    assert pseudo("Open {pod} in <link>the list</link>.") == (
        "⟦Ópéñ {pod} íñ <link>thé líšt</link>.~~~~~~⟧"
    )
    assert pseudo(", ") == ", "


def test_the_pseudo_language_has_all_words(tmp_path: Path) -> None:
    write_pseudo(LOCALE, tmp_path)
    found = gettext.translation("djangojs", tmp_path, ["en_XA"])
    for entry in polib.pofile(str(LOCALE / "djangojs.pot")):
        assert found.gettext(entry.msgid) in (pseudo(entry.msgid), entry.msgid), entry.msgid
    assert found.ngettext("{count} pod", "{count} pods", 2) == pseudo("{count} pods")


def test_a_changed_text_makes_the_template_stale() -> None:
    template = LOCALE / "djangojs.pot"
    kept = template.read_text()
    check = [sys.executable, ".ci/words.py", "--check"]
    template.write_text(kept.replace("Nothing has happened yet.", "Nothing happened."))
    try:
        done = subprocess.run(check, cwd=ROOM, check=False, capture_output=True, text=True)
    finally:
        template.write_text(kept)
    assert done.returncode == 1
    assert "kscope/locale/djangojs.pot" in done.stdout


def test_names_of_kubernetes_are_not_translated() -> None:
    names = {"PreFilter", "Pending", "Bound", "FailedScheduling", "NodeAffinity", "Terminating"}
    listed = {entry.msgid for entry in polib.pofile(str(LOCALE / "djangojs.pot"))}
    assert not names & listed
