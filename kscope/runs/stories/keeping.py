"""Plays each demo once for each engine, and keeps what the gallery shows of it."""

from engine.cluster.source import fingerprint
from engine.diagnosis.story.story import story_played
from kscope.runs.contents import loaded_of
from kscope.runs.models import Scenario, Story


def story_keep(scenario: Scenario) -> None:
    """Have what the gallery shows of *scenario*; nothing is done when this engine has played it."""
    digest = fingerprint()
    if Story.objects.filter(pk=scenario.pk, engine_digest=digest).exists():
        return
    told = story_played(loaded_of(scenario), profile=scenario.told["of"]["profile"])
    found = {
        "slug": scenario.header["name"],
        "engine_digest": digest,
        "end": told.end,
        "events": told.events,
        "drawing": told.drawing,
        "reasons": list(told.reasons),
        "replay": told.replay,
    }
    Story.objects.update_or_create(scenario=scenario, defaults=found)
