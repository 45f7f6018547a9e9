"""`make soak`: many episodes, half of them on servers of `up`'s own, half on given ones.

An episode is made of its seed alone: `python -m tests.chaos.soak --seed 41 --episodes 1` does again
what episode 41 did.
"""

import argparse
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
django.setup()

from tests.chaos.episode import Episode  # noqa: E402 models exist once Django is set up
from tests.chaos.history.once import Tally  # noqa: E402
from tests.chaos.plan import is_embedded, plan_of, world_plan_of  # noqa: E402
from tests.chaos.tree import Tree  # noqa: E402
from tests.chaos.world_tree import WorldTree  # noqa: E402

EPISODES_OF_A_TREE = 10


def main(arguments: list[str] | None = None) -> int:
    """0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the first episode")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--worlds", type=int, default=50, help="episodes where the world fails")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    soak = Soak()
    seeds = range(given.seed, given.seed + given.episodes)
    soak.play([seed for seed in seeds if is_embedded(seed)], lambda: Tree(embedded=True))
    soak.play([seed for seed in seeds if not is_embedded(seed)], lambda: Tree(embedded=False))
    soak.play([*range(given.seed, given.seed + given.worlds)], WorldTree)
    print(f"{soak.played} episodes in {time.monotonic() - began:.0f} s; {_counts(soak.faults)}")
    print(f"skipped: {_counts(soak.skipped) or 'nothing'}")
    print(f"writes of clients, each there as often as was answered: {soak.tally}")
    for failed in soak.failed:
        print(f"FAILED; again: python -m tests.chaos.soak {failed}")
    return 1 if soak.failed else 0


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{what}: {count}" for what, count in sorted(counted.items()))


class Soak:
    """Plays episodes; which failed, and how often each fault struck or was skipped."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.faults: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.tally = Tally()
        self.played = 0

    def play(self, seeds: list[int], tree: Callable[[], Tree]) -> None:
        """Play the episodes on trees like this, each for some of them."""
        while seeds:
            seeds = seeds[self._play_on(tree(), seeds[:EPISODES_OF_A_TREE]) :]

    def _play_on(self, tree: Tree, seeds: list[int]) -> int:
        """Play episodes until one fails; how many were played."""
        is_world = isinstance(tree, WorldTree)
        played = 0
        try:
            for seed in seeds:
                began = time.monotonic()
                plan = world_plan_of(seed) if is_world else plan_of(seed)
                episode = Episode(tree, plan)
                wrong = self._outcome(episode)
                told = f"{plan}; {episode.tally}; {time.monotonic() - began:.0f} s"
                print(told, *wrong, sep="\n", flush=True)
                played += 1
                if wrong:
                    self._note_failure(seed, is_world)
                    break
        finally:
            try:
                tree.stop()
            except AssertionError as left:
                last = seeds[max(0, played - 1)]
                self._note_failure(last, is_world)
                print(f"after episode {last}: {left}", flush=True)
        self.played += played
        return played

    def _note_failure(self, seed: int, is_world: bool) -> None:
        counts = "--episodes 0 --worlds 1" if is_world else "--episodes 1 --worlds 0"
        self.failed.append(f"--seed {seed} {counts}")

    def _outcome(self, episode: Episode) -> list[str]:
        try:
            return episode.play()
        except Exception:  # noqa: BLE001 the other episodes are worth playing
            return [traceback.format_exc(), *episode.api.nonsense, episode.tree.logs()]
        finally:
            self.faults.update(episode.done)
            self.tally.add(episode.tally)
            self.skipped.update(episode.skipped)


if __name__ == "__main__":
    # So that the tree is stopped as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
