"""The demos as a gallery shows them, by topic, and those that words or a pasted message find."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from engine.diagnosis.story.reasons import phrases_of
from kscope.accounts.access import Visitor
from kscope.runs.access import readable_scenarios
from kscope.runs.models import Story

# A pasted phrase is that of a story if so much of the shorter one is in the other.
_ALIKE = 0.75
_LEAST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Card:
    """A demo in the gallery. `drawing` is SVG of our own making."""

    scenario_id: int
    slug: str
    name: str
    question: str
    topic: str
    tags: tuple[str, ...]
    reasons: tuple[str, ...]
    drawing: SafeString
    end: int
    events: int

    @property
    def text(self) -> str:
        """All that words are looked for in."""
        return " ".join((self.name, self.question, self.topic, *self.tags, *self.reasons)).lower()


def cards(visitor: Visitor) -> list[Card]:
    """Every demo, in the order of the gallery."""
    demos = readable_scenarios(visitor).filter(is_demo=True, story__isnull=False)
    return [
        Card(
            scenario_id=demo.pk,
            slug=demo.story.slug,
            name=demo.name,
            question=demo.question,
            topic=demo.told.get("topic", ""),
            tags=tuple(demo.told.get("tags", ())),
            reasons=tuple(demo.story.reasons),
            # Drawn by the engine, which writes numbers and classes alone.
            drawing=mark_safe(demo.story.drawing),
            end=demo.story.end,
            events=demo.story.events,
        )
        for demo in demos.select_related("story").defer("story__replay")
    ]


def topics(among: Iterable[Card]) -> dict[str, int]:
    """How many cards each topic has, in the order in which the topics come first."""
    return dict(Counter(card.topic for card in among if card.topic))


def found(among: Sequence[Card], text: str) -> list[Card]:
    """The cards in which all words of *text* are, or a phrase of a pasted message; best first."""
    if not text.strip():
        return [*among]
    words, phrases = text.lower().split(), [*phrases_of(text)]
    ranked = [(_rank(card, words, phrases), card) for card in among]
    ranked = [each for each in ranked if each[0] > 0]
    # Among equals the order of the gallery stays.
    return [card for _, card in sorted(ranked, key=lambda each: -each[0])]


def _rank(card: Card, words: Sequence[str], phrases: Sequence[str]) -> int:
    has_words = all(word in card.text for word in words)
    said = sum(any(_are_alike(phrase, reason) for reason in card.reasons) for phrase in phrases)
    return said + (len(phrases) + 1) * has_words


def _are_alike(phrase: str, reason: str) -> bool:
    shorter, longer = sorted((set(phrase.split()), set(reason.split())), key=len)
    if len(shorter) < _LEAST_WORDS:
        return False
    return len(shorter & longer) >= _ALIKE * len(shorter)


def story_of(visitor: Visitor, slug: str) -> Story | None:
    """The story at that address without what can be large, if the visitor may see its demo."""
    demos = readable_scenarios(visitor).filter(is_demo=True).values("pk")
    stories = Story.objects.filter(scenario__in=demos, slug=slug).select_related("scenario")
    large = ("replay", "drawing", "scenario__report")
    return stories.defer(*large).first()
