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

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
django.setup()

from tests.chaos.episode import Episode  # noqa: E402 models exist once Django is set up
from tests.chaos.plan import is_embedded, plan_of  # noqa: E402
from tests.chaos.tree import Tree  # noqa: E402

EPISODES_OF_A_TREE = 10


def main(arguments: list[str] | None = None) -> int:
    """0 when nothing was wrong."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="of the first episode")
    parser.add_argument("--episodes", type=int, default=200)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    failed, faults = soak(range(given.seed, given.seed + given.episodes))
    seconds = time.monotonic() - began
    told = ", ".join(f"{what}: {count}" for what, count in sorted(faults.items()))
    print(f"{given.episodes} episodes in {seconds:.0f} s; {told}")
    for seed in failed:
        print(f"FAILED; again: python -m tests.chaos.soak --seed {seed} --episodes 1")
    return 1 if failed else 0


def soak(seeds: range) -> tuple[list[int], Counter[str]]:
    """Play the episodes; the seeds that failed, and how often each fault struck."""
    failed: list[int] = []
    faults: Counter[str] = Counter()
    for embedded in (True, False):
        mine = [seed for seed in seeds if is_embedded(seed) == embedded]
        while mine:
            played = _play_on_one_tree(mine[:EPISODES_OF_A_TREE], embedded, failed, faults)
            mine = mine[played:]
    return failed, faults


def _play_on_one_tree(
    seeds: list[int], embedded: bool, failed: list[int], faults: Counter[str]
) -> int:
    """Play episodes until one fails; how many were played."""
    tree = Tree(embedded=embedded)
    played = 0
    try:
        for seed in seeds:
            began = time.monotonic()
            plan = plan_of(seed)
            wrong = _outcome(Episode(tree, plan), faults)
            print(f"{plan}; {time.monotonic() - began:.0f} s", *wrong, sep="\n", flush=True)
            played += 1
            if wrong:
                failed.append(seed)
                break
    finally:
        try:
            tree.stop()
        except AssertionError as left:
            last = seeds[max(0, played - 1)]
            failed.append(last)
            print(f"after episode {last}: {left}", flush=True)
    return played


def _outcome(episode: Episode, faults: Counter[str]) -> list[str]:
    try:
        return episode.play()
    except Exception:  # noqa: BLE001 the other episodes are worth playing
        return [traceback.format_exc(), *episode.api.nonsense, episode.tree.logs()]
    finally:
        faults.update(episode.done)


if __name__ == "__main__":
    # So that the tree is stopped as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
