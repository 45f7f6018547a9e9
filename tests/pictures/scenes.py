"""What is taken: pages at instants of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.kernel.units import MILLISECOND, SECOND

# Demos, by their titles.
SURGE: Final = "Checkout surge"
SICK: Final = "A sick cluster, as kubectl printed it"
# What the fork of the surge does otherwise, and when.
FORKED_AT: Final = 20 * SECOND
CHANGE: Final = {"verb": "cordon", "object": "node/node-a2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One page. `address` has places for the run's `id` and `seq`, and for its fork, `fork`.

    `at` is the instant that `seq` stands for, in virtual nanoseconds. `shows` is a selector of what is
    drawn last.
    """

    name: str
    address: str
    run: str = ""
    at: int = 0
    shows: str = "main"


SCENES: Final = (
    Scene(name="home", address="/", shows=".live canvas"),
    # Many wait, some nominated to nodes where others are still leaving.
    Scene(
        name="board",
        run=SURGE,
        at=43_205 * MILLISECOND,
        address="/runs/{id}/?seq={seq}&pod=shop/ledger-3",
    ),
    Scene(name="triage", run=SICK, address="/runs/{id}/triage/"),
    # Two nodes with the same points.
    Scene(name="inside", run=SURGE, address="/runs/{id}/inside/scheduler/?cycle=6&step=score"),
    Scene(
        name="timeline",
        run=SURGE,
        address="/runs/{id}/timeline/?pod=shop/ledger-3",
        shows=".tlcanvas",
    ),
    Scene(
        name="compare",
        run=SURGE,
        address="/runs/{id}/compare/?with={fork}&t=45",
        shows="main article",
    ),
    Scene(
        name="lesson",
        address="/lessons/points-a-tie-and-a-draw/?step=3",
        shows=".stage:not(.computing)",
    ),
    Scene(name="first-look", run=SICK, address="/runs/{id}/first-look/"),
    # The branch of the controller that binds the claim.
    Scene(
        name="inside-volumes",
        run=SURGE,
        at=4_165 * MILLISECOND,
        address="/runs/{id}/inside/volumes/?seq={seq}&claim=shop/data-ledger-0",
    ),
    Scene(name="film", run=SURGE, address="/runs/{id}/film/?cycle=6&step=host"),
)
# Those that the README shows, light, at the wider width.
README: Final = ("board", "triage", "inside")
THEMES: Final = ("light", "dark")
# Width and height of the window, and how many pixels of the picture one of its pixels is.
SIZES: Final = ((1280, 800, 1.5), (390, 844, 2))
