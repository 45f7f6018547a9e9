#!/usr/bin/env python3
"""Collects the words of pages into `kscope/locale/*.pot`: `make words`; `make check` with `--check`.

Two domains, as Django has them: `djangojs` is what the browser says (static/js), `django` all that
the server does (Python and templates). Translations are `kscope/locale/LANGUAGE/LC_MESSAGES/*.po`;
those that there are get new sentences, and sentences that are gone are marked so. No line numbers
are written: each change of the code would change the catalogues.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import django
from babel.messages import Catalog
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from kscope.documents.messages import document_messages

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "kscope" / "locale"
PACKAGES = ("engine", "kscope", "scheduling", "volumes", "kube")
# The names of Django's functions, and which of their arguments are messages.
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
# Those of engine.kernel.sentences, which other packages have by other meanings.
ENGINE_KEYWORDS = {"say": None, "phrase": None, "say_count": (1, 2), "count_phrase": (1, 2)}
NOTE = "Translators:"
# Headers that say when, by what and for whom: each would change by itself, or has nothing to say.
UNSAID = tuple(
    f'"{name}'
    for name in ("POT-", "PO-Rev", "Project-", "Report-", "Last-", "Language-Team", "Generated-")
)
# file, function, messages, comments
Found = tuple[str, str, object, list[str]]


def main() -> int:
    """Write the catalogues, or with --check say whether they are as they would be written."""
    is_check = sys.argv[1:] == ["--check"]
    stale = []
    for domain, found in (("django", server_words()), ("djangojs", browser_words())):
        template = catalogue_of(found)
        for path, text in written(domain, template).items():
            if not path.exists() or path.read_text() != text:
                stale.append(path.relative_to(ROOT).as_posix())
                if not is_check:
                    path.write_text(text)
    if is_check and stale:
        print(f"run `make words`: {', '.join(stale)} is not what the code says")
    return 1 if is_check and stale else 0


def catalogue_of(found: Iterator[Found]) -> Catalog:
    """All messages in the order of the files."""
    catalogue = Catalog(
        charset="utf-8", header_comment="# Words of kscope, written by `make words`."
    )
    for path, function, messages, comments in found:
        ids = (messages,) if isinstance(messages, str) else tuple(messages)  # type: ignore[arg-type]
        context = ids[0] if function.startswith(("pgettext", "npgettext")) else None
        ids = ids[1:] if context is not None else ids
        key = ids[0] if len(ids) == 1 else ids
        if not ids[0]:
            raise ValueError(f"{path}: an empty message")
        catalogue.add(key, locations=[(path, 0)], auto_comments=comments, context=context)
    return catalogue


def written(domain: str, template: Catalog) -> dict[Path, str]:
    """The files of a domain: its template, and each translation brought up to it."""
    files = {LOCALE / f"{domain}.pot": text_of(template)}
    for path in sorted(LOCALE.glob(f"*/LC_MESSAGES/{domain}.po")):
        translation = read_po(io.BytesIO(path.read_bytes()), locale=path.parent.parent.name)
        translation.update(template, no_fuzzy_matching=True)
        files[path] = text_of(translation)
    return files


def text_of(catalogue: Catalog) -> str:
    """A catalogue as it is committed."""
    buffer = io.BytesIO()
    write_po(buffer, catalogue, width=100, include_lineno=False, omit_header=False)
    lines = buffer.getvalue().decode().splitlines()
    kept = [line for line in lines if not line.startswith(UNSAID)]
    return "\n".join(kept).rstrip() + "\n"


def browser_words() -> Iterator[Found]:
    """What words_of_scripts.js finds: a syntax tree sees calls within templates within templates."""
    script = [sys.executable, "kscope/up/setup.py", "node", ".ci/words_of_scripts.js"]
    done = subprocess.run(script, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for each in json.loads(done.stdout):
        yield each["path"], each["function"], each["messages"], each["comments"]


def server_words() -> Iterator[Found]:
    """Calls of Django's functions in Python, and its tags in templates."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield from python_words(path, path.read_text())
    settings.configure(USE_I18N=True)
    django.setup()
    for folder in ("templates", *PACKAGES):
        for path in sorted((ROOT / folder).rglob("*.html")):
            # What is not a tag becomes rows of X, which may stand at any depth.
            code = templatize(path.read_text(), origin=str(path))
            yield from python_words(path, "\n".join(map(str.strip, code.splitlines())))
    for path, text, comments in document_messages(ROOT):
        yield path, "gettext", text, comments


def python_words(path: Path, code: str) -> Iterator[Found]:
    """The messages of a file."""
    file = io.BytesIO(code.encode())
    name = path.relative_to(ROOT).as_posix()
    says = name.startswith("engine/") or "from engine.kernel.sentences import" in code
    keywords = {**KEYWORDS, **(ENGINE_KEYWORDS if says else {})}
    for _, function, messages, comments in extract_python(file, keywords, [NOTE], {}):
        numbers = keywords[function]
        if isinstance(messages, str):
            yield name, function, messages, comments
            continue
        # What the code looks up may be no literal; a test says where.
        if messages is None or len(messages) < len(numbers or (1,)):
            continue
        wanted = [each[0] if isinstance(each, tuple) else each for each in numbers or (1,)]
        chosen = [messages[number - 1] for number in wanted]
        if all(isinstance(each, str) for each in chosen):
            yield name, function, chosen if len(chosen) > 1 else chosen[0], comments


if __name__ == "__main__":
    sys.exit(main())
