"""Pages in the made-up language: what is not in brackets is in no catalogue.

What the server sends, names and messages of a cluster among it, is left out here: whatever stands in
an answer of it, in a frame of the stream or in the page before its scripts have run.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response

from kscope.words.pseudo import OPEN
from tests.e2e.conftest import Site, new_context
from tests.walk.runs import History, demos, play
from tests.walk.walk import IN_PAGE, places_of

DEMOS = ("Checkout surge", "A sick cluster, as kubectl printed it")
SAID = Path(__file__).with_name("in_words.js")
# What scripts say and no language changes, with the reason.
NAMES = {
    "Kubernetes' own words: points, conditions, phases, types and codes": (
        *("Assume", "Available", "Bind", "Bound", "Failed", "Filter", "Lost", "NodeAffinity"),
        *("NormalizeScore", "NotReady", "Pending", "Permit", "Pop", "PostBind", "PostFilter"),
        *(
            "PreBind",
            "PreEnqueue",
            "PreFilter",
            "PreScore",
            "Ready",
            "Released",
            "Recycle",
            "Reserve",
        ),
        *("Running", "Score", "Skip", "Snapshot", "Success", "Terminating", "Unreserve"),
        *("WaitOnPermit", "PodDisruptionBudget", "ResourceQuota", "Queue", "QueueSkip"),
    ),
    "units and speeds": (
        "max",
        "s",
        "ms",
        "min",
        "h",
        "d",
        "m",
        "Ki",
        "Mi",
        "Gi",
        "Ti",
        "CPU",
        "UTC",
        "MiB",
        "GiB",
    ),
    "keys of a keyboard": ("Ctrl", "End", "Enter", "Esc", "Home", "Shift", "Space", "Tab"),
    "abbreviations of kubectl and of formats": (
        *("PV", "PVC", "RWO", "ROX", "RWX", "RWOP", "CSV", "JSON", "NDJSON", "YAML", "rv", "POST"),
    ),
    "what becomes of released volumes": ("Delete", "Recycle", "Retain"),
    "what one types as an example": (
        *("Gate", "Other", "true", "false", "pod", "shop", "web", "node"),
    ),
}
# Functions, fields and kinds: AssumePod, spec.volumeName.
_CODE = re.compile(r"\b[A-Za-z][a-z]+(?:[A-Z][a-z]*)+\b|\b\w+\.\w+[\w.]*|\b\d\S*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)(?:\.\d+)?Z")
_WORD = re.compile(r"[^\W\d_]{2,}")


class Told:
    """All texts that the server has sent to a page since it was opened."""

    def __init__(self, page: Page) -> None:
        self._texts: set[str] = set()
        self._page = page
        self._pages: list[Response] = []
        page.on("response", self._note)
        page.on("websocket", lambda socket: socket.on("framereceived", self._read))

    def _note(self, answer: Response) -> None:
        if "html" in answer.headers.get("content-type", ""):
            self._pages.append(answer)

    def begin(self) -> None:
        """Forget what was sent: another page is opened."""
        self._texts.clear()
        self._pages.clear()

    def end(self) -> None:
        """Read what has come."""
        for answer in self._pages:
            self._texts |= {text.strip() for text in re.split(r"<[^>]*>", answer.text())}
            self._texts |= set(re.findall(r"=\"([^\"]*)\"", answer.text()))
            for given in re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", answer.text()):
                self._read(given)
        for told in self._page.evaluate("window.told"):
            for line in told.splitlines():
                self._read(line)
        self._index()

    def _read(self, frame: str | bytes) -> None:
        try:
            self._texts |= set(_leaves(json.loads(frame)))
        except ValueError:
            self._texts.add(str(frame))

    def without(self, text: str) -> str:
        """*text* without what the server has sent."""
        words = _WORD.findall(text)
        known = {each for word in words for each in self._by_word.get(word, ())}
        # A sentence of a longer text; one word may be anywhere by chance.
        if len(words) > 1 and any(text.strip() in each for each in known):
            return ""
        for each in sorted(known, key=len, reverse=True):
            text = text.replace(each, " ")
        return text

    def _index(self) -> None:
        self._by_word: dict[str, set[str]] = {}
        # A page shows the time of day.
        for text in {each for told in self._texts for each in (told, _TIME.sub(r"\1 UTC", told))}:
            # An id is shown in parts, and so is a list.
            parts = re.split(r"[/,;: -]+", text) if len(text) < 80 else []
            for each in (text, *parts):
                for word in _WORD.findall(each):
                    self._by_word.setdefault(word, set()).add(each)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield value


def untranslated(told: Told, said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By the place of a text in the page: one that has words which are in no catalogue."""
    names = {name for group in NAMES.values() for name in group}
    found: dict[str, str] = {}
    for where, text in said:
        left = _CODE.sub(" ", told.without(text))
        words = [word for word in _WORD.findall(left) if word not in names]
        if words:
            found.setdefault(where, text)
    return found


@pytest.fixture
def reader(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of somebody whose browser asks for the made-up language; errors fail the test."""
    errors: list[str] = []
    with closing(new_context(browser, site.address, locale="en-XA")) as context:
        page = context.new_page()
        page.add_init_script(path=IN_PAGE)
        page.add_init_script(path=SAID)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
    assert errors == []


def opened(page: Page, demo: str) -> Iterator[str]:
    """Every page of a run of the demo at one event in its middle, by name, once it rests."""
    run = play(page.request, demo, demos(page.request)[demo])
    history, dice = History(page.request, run), random.Random(1)
    seq = run.head * 2 // 3
    for place in places_of(history, (seq,), dice):
        joint = "&" if "?" in place.path else "?"
        page.goto(f"/runs/{run.id}/{place.path}{joint}seq={seq}")
        page.wait_for_function("() => window.walk.rests(null)")
        yield place.name


@pytest.mark.parametrize("demo", DEMOS)
def test_every_text_is_in_a_catalogue(reader: Page, demo: str) -> None:
    told, found, pages = Told(reader), {}, 0
    for name in opened(reader, demo):
        # What an answer brings after this was sent by then as well, but not the other way round.
        said = reader.evaluate("window.said()")
        told.end()
        for where, text in untranslated(told, said).items():
            found.setdefault(f"{name}: {where}", text)
        pages += OPEN in reader.inner_text("main")
        told.begin()
    # Each page but Connect, which is a template.
    assert pages >= 12
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)


# A diagram has fixed places for its labels, and each is said by the state beside it.
FIXED = "svg.dia > text"


def test_longer_words_have_room_on_a_phone(reader: Page) -> None:
    reader.set_viewport_size({"width": 390, "height": 844})
    found = [
        f"{name}: {each['kind']}: {each['selector']}: {each['text'][:60]}"
        for name in opened(reader, DEMOS[0])
        for each in reader.evaluate("window.walk.measure()")
        if FIXED not in each["selector"]
    ]
    assert found == [], "\n".join(found)
