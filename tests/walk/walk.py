"""A walk through every page of a run, at random instants, widths and both themes.

Each page is opened at one instant and then moved to the others by its own field. A painted frame has
to say what the API says at the event that it names, and it may name only the event before the move
or the one after. At rest, its texts are measured.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, TimeoutError

from tests.walk.runs import History, Walked
from tests.walk.truth import TRUTHS, State

IN_PAGE = Path(__file__).with_name("in_page.js")
CATALOGUE = Path(__file__).parents[2] / "kscope" / "locale" / "djangojs.pot"
WIDTHS = {390: 844, 1280: 720, 1440: 900, 1920: 1080}
"""Width → height of the window."""

THE_SITE = "the site"
_RESTS = "seq => window.walk.rests(seq)"
# A page that asks for itself again, once the run that it shows has been played.
_IS_COMPUTED = "() => !document.querySelector('meta[http-equiv=refresh]')"


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a run."""

    name: str
    path: str
    subject: str = ""
    """The id of the object that the page is about."""
    moves: bool = True
    """Whether it shows one event of the run and can be moved to another."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something wrong that a reader of a page would see."""

    kind: str
    page: str
    selector: str
    demo: str
    seq: int
    width: int
    theme: str
    text: str

    def __str__(self) -> str:
        return (
            f"{self.kind}: {self.page} of {self.demo!r} at event {self.seq}, {self.width} px, "
            f"{self.theme}: {self.selector}: {self.text[:200]}"
        )


@dataclass(slots=True)
class Report:
    """What a walk has found, and how much it has looked at."""

    findings: list[Finding] = field(default_factory=list)
    visits: int = 0
    frames: int = 0
    measured: int = 0

    def kinds(self) -> list[tuple[Finding, int]]:
        """The first finding of each kind at each place of each page, and how often it was met."""
        alike = Counter((each.kind, each.page, each.selector) for each in self.findings)
        firsts: dict[tuple[str, str, str], Finding] = {}
        for each in self.findings:
            firsts.setdefault((each.kind, each.page, each.selector), each)
        return [(firsts[key], times) for key, times in sorted(alike.items())]

    def __str__(self) -> str:
        lines = [f"{first} ({times} times)" for first, times in self.kinds()]
        lines.append(
            f"{self.visits} visits, {self.frames} painted states, {self.measured} pages measured, "
            f"{len(lines)} kinds of findings, {len(self.findings)} findings"
        )
        return "\n".join(lines)


@cache
def _words_of_pages() -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", CATALOGUE.read_text()))


def places_of(history: History, seqs: tuple[int, ...], dice: random.Random) -> list[Place]:
    """Every page of a run, those of one object for an object of one of the instants."""
    _, state = history.state(dice.choice(seqs))
    chosen = {kind: _any(state, kind, dice) for kind in ("pod", "claim", "volume", "node")}
    found = [
        Place("board", ""),
        Place("pods", "pods/"),
        Place("nodes", "nodes/"),
        Place("volumes", "volumes/"),
        Place("machines", "machines/"),
        Place("timeline", "timeline/"),
        Place("inside-scheduler", "inside/scheduler/"),
        Place("inside-volumes", "inside/volumes/"),
        Place("film", "film/", moves=False),
        Place("connect", "connect/", moves=False),
        Place("configuration", "configuration/", moves=False),
        Place("edit", "edit/", moves=False),
        Place("agreement", "agreement/", moves=False),
        Place("compare", f"compare/?with={history.run.id}", moves=False),
    ]
    for kind in ("pod", "node"):
        if chosen[kind]:
            found.append(Place(kind, f"{kind}s/{chosen[kind].partition('/')[2]}/", chosen[kind]))
    for kind in ("claim", "volume"):
        if key := chosen[kind]:
            found.append(Place("volumes", f"volumes/?{kind}={key.partition('/')[2]}", key))
            found.append(Place("manifest", f"objects/{key}/", key))
    if history.run.as_brought:
        found += [Place(name, f"{name}/", moves=False) for name in ("first-look", "triage")]
    return found


def _any(state: State, kind: str, dice: random.Random) -> str:
    found = sorted(key for key in state if key.startswith(f"{kind}/"))
    return dice.choice(found) if found else ""


class Walker:
    """Walks one tab through the pages of runs; `report` has what it found."""

    def __init__(self, page: Page, seed: int, say: Callable[[str], None] = lambda line: None):
        self.page = page
        self.seed = seed
        self.say = say
        self.report = Report()
        self.theme = "light"
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.add_init_script(path=IN_PAGE)

    def walk_run(self, run: Walked, instants: int, pages: Sequence[str] = ()) -> None:
        """All pages of a run, or those of the names *pages*, at *instants* of its events."""
        history = History(self.page.request, run)
        dice = random.Random(f"{self.seed} {run.demo}")
        seqs = history.instants(instants, f"{self.seed} {run.demo} events")
        for place in places_of(history, seqs, dice):
            if pages and place.name not in pages:
                continue
            before = len(self.report.findings)
            try:
                self._walk_place(history, place, seqs, dice)
            except TimeoutError as late:
                self._note("never rests", place, run.demo, self.page.url, str(late))
            for error in self.errors:
                self._note("error", place, run.demo, self.page.url, error)
            self.errors.clear()
            new = self.report.findings[before:]
            self.say(f"{run.demo}: {place.name}, {len(new)} findings, {self.report.visits} visits")
            # A walk takes hours, and what it finds first can be mended meanwhile.
            for first, times in Report(new).kinds():
                self.say(f"  {first} ({times} times)")

    def _note(self, kind: str, place: Place, demo: str, selector: str, text: str) -> None:
        found = self._finding(kind, place, demo, 0, selector, text)
        self.report.findings.append(found)

    def walk_site(self, paths: Sequence[str]) -> None:
        """Pages that belong to no run: only their texts are measured."""
        for path in paths:
            place = Place(path, path)
            self.page.goto(path)
            try:
                self.page.wait_for_function(_IS_COMPUTED)
                self.page.wait_for_function(_RESTS, arg=None)
                self._measure(place, THE_SITE, 0, list(WIDTHS))
            except TimeoutError as late:
                self._note("never rests", place, THE_SITE, path, str(late))

    def _walk_place(
        self, history: History, place: Place, seqs: tuple[int, ...], dice: random.Random
    ) -> None:
        if not place.moves:
            self.page.goto(f"/runs/{history.run.id}/{place.path}")
            self.page.wait_for_function(_RESTS, arg=None)
            self._measure(place, history.run.demo, history.run.head, list(WIDTHS))
            return
        shown: int | None = None
        for seq in seqs:
            self._go(history, place, seq, shown)
            self.report.visits += 1
            for found in self.wrong_frames(history, place, {seq, shown}):
                self.report.findings.append(found)
            # The other widths show the same instants: in the long run each meets each.
            widths = list(WIDTHS) if shown is None else [dice.choice(list(WIDTHS))]
            self._measure(place, history.run.demo, seq, widths)
            shown = seq

    def _go(self, history: History, place: Place, seq: int, shown: int | None) -> None:
        """Open the page at an event, or move the open page there by its field."""
        if shown is None:
            joint = "&" if "?" in place.path else "?"
            self.page.goto(f"/runs/{history.run.id}/{place.path}{joint}seq={seq}")
            self.page.evaluate("name => { window.walk.page = name; }", place.name)
        else:
            self.page.evaluate("window.walk.clear()")
            typed = self.page.locator("#seq")
            typed.fill(str(seq))
            typed.press("Enter")
        if place.name == "manifest":
            self.page.wait_for_function(_RESTS, arg=None)
            return
        self.page.wait_for_function(_RESTS, arg=seq)

    def wrong_frames(
        self, history: History, place: Place, allowed: set[int | None]
    ) -> Iterator[Finding]:
        """What painted frames say that is not so at the event that they name."""
        frames: list[dict[str, Any]] = self.page.evaluate("window.walk.frames")
        self.report.frames += len(frames)
        for each in frames:
            seq = each["seq"]
            wrong = [
                *self._wrong_instant(history, place, each, allowed),
                *self._wrong_facts(history, place, each),
                *_later(each["text"], place, history.later_names(seq)),
            ]
            for kind, selector, text in wrong:
                yield self._finding(kind, place, history.run.demo, seq, selector, text)

    def _wrong_instant(
        self, history: History, place: Place, each: dict[str, Any], allowed: set[int | None]
    ) -> Iterator[tuple[str, str, str]]:
        seq: int = each["seq"]
        if seq not in allowed:
            wanted = sorted(one for one in allowed if one is not None)
            yield "instant", "#seq", f"painted event {seq}, not one of {wanted}"
        at, _ = history.state(seq)
        # At the newest event the clock of the run may have gone on.
        if seq < history.run.head and each["time"] != f"{at / 10**9:.3f}":
            yield "instant", "#time", f"shows {each['time']} s for {at} ns"

    def _wrong_facts(
        self, history: History, place: Place, each: dict[str, Any]
    ) -> Iterator[tuple[str, str, str]]:
        truth = TRUTHS.get(place.name)
        if truth is None or not each["facts"]:
            return
        _, state = history.state(each["seq"])
        expected = truth(state, place.subject)
        for key, said in each["facts"].items():
            if said != expected[key]:
                yield "facts", key, f"says {json.dumps(said)}, the API {json.dumps(expected[key])}"

    def _measure(self, place: Place, demo: str, seq: int, widths: list[int]) -> None:
        """The texts of the page at these widths, and at the last one in the other theme, too."""
        for width in widths:
            self._measure_at(place, demo, seq, width)
        self.page.locator("#theme").click()
        self.theme = self.page.evaluate("document.documentElement.dataset.theme")
        self._measure_at(place, demo, seq, widths[-1])

    def _measure_at(self, place: Place, demo: str, seq: int, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        self.page.wait_for_function(_RESTS, arg=None)
        self.report.measured += 1
        found: list[dict[str, str]] = self.page.evaluate("window.walk.measure()")
        for each in found:
            self.report.findings.append(
                self._finding(
                    each["kind"], place, demo, seq, each["selector"], each["text"], width=width
                )
            )

    def _finding(
        self,
        kind: str,
        place: Place,
        demo: str,
        seq: int,
        selector: str,
        text: str,
        width: int = 0,
    ) -> Finding:
        return Finding(kind, place.name, selector, demo, seq, width, self.theme, text)


def _later(text: str, place: Place, names: list[str]) -> Iterator[tuple[str, str, str]]:
    """Names in a frame that only a later event brings; the page may say that its own object is not there.

    A name that is a word of the pages, such as "next", says nothing.
    """
    for name in names:
        if name in _words_of_pages():
            continue
        if name != place.subject.rpartition("/")[2] and re.search(
            rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text
        ):
            yield "later", "main", f"names {name}, which does not exist yet"
