"""Tries specs of the suite, each on a cluster of its own."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from kube.clusters import cluster
from tests.kube.upstream.page import FAILS, PASSES, SCRIPTED
from tests.kube.upstream.recorder import BEGINS_SECONDS, recording_to
from tests.kube.upstream.suite import JSON_BODIES, Outcome, Spec, Suite

LEAST_SECONDS = 30
# As a run that is recorded decides, one does on which the recording is played: nothing by chance.
DECIDES: dict[str, Any] = {"seed": 1, "tie_break": "name"}
_FOLDER = Path(__file__).parent
_NODES = (_FOLDER / "cluster.yaml").read_text()
_SCRIPT = (_FOLDER / "containers.yaml").read_text()
_BUSY = (_FOLDER / "busy.yaml").read_text()
# What a spec waits for that itself writes nothing: others write meanwhile.
_WAITS_FOR_OTHERS = re.compile(r"support continue listing from the last key")


def scenario(name: str, *, is_scripted: bool) -> str:
    """What the run of the spec *name* is made of; with *is_scripted* its containers have a script."""
    documents = [_SCRIPT] if is_scripted else []
    documents += [_NODES, *([_BUSY] if _WAITS_FOR_OTHERS.search(name) else [])]
    return "\n---\n".join(documents)


def tried(suite: Suite, spec: Spec, seconds: int, *, is_scripted: bool) -> Outcome:
    """What comes of *spec* on a run at 1x; with *is_scripted* one whose containers have a script."""
    running = cluster(scenario(spec.name, is_scripted=is_scripted))
    with running as kubeconfig:
        running.advance(BEGINS_SECONDS)
        running.play(1)
        return suite.run(spec, kubeconfig, seconds)


def recorded(suite: Suite, seconds: int, folder: Path, before: str, spec: Spec) -> Outcome:
    """What comes of *spec*, of which the page says *before*; in *folder*, what was said if it passes."""
    running = cluster(scenario(spec.name, is_scripted=before == SCRIPTED), **DECIDES)
    draft = folder / f"{spec.file_name}.draft"
    with running as kubeconfig:
        running.advance(BEGINS_SECONDS)
        running.play(1)
        with recording_to(draft, running, Path(kubeconfig)) as through:
            outcome = suite.run(spec, str(through), seconds, JSON_BODIES)
    if outcome.passed:
        draft.rename(draft.with_suffix(".jsonl"))
    return outcome


def told_of(suite: Suite, seconds: int, before: str, spec: Spec) -> tuple[str, Outcome]:
    """What the page is to say of *spec*, of which it has said *before*.

    Without the script it is tried no longer than with it: it may wait for what never happens.
    """
    if before == PASSES:
        outcome = tried(suite, spec, seconds, is_scripted=False)
        if outcome.passed:
            return PASSES, outcome
    outcome = tried(suite, spec, seconds, is_scripted=True)
    if not outcome.passed:
        return FAILS, outcome
    if before != SCRIPTED:
        limit = min(seconds, LEAST_SECONDS + 2 * int(outcome.seconds))
        if tried(suite, spec, limit, is_scripted=False).passed:
            return PASSES, outcome
    return SCRIPTED, outcome


def record_all(
    suite: Suite,
    specs: Sequence[Spec],
    before: dict[Spec, str],
    seconds: int,
    workers: int,
    folder: Path,
) -> Iterator[tuple[Spec, Outcome]]:
    """Record those that pass in so many processes; in the order in which they end."""
    with ProcessPoolExecutor(workers) as pool:
        record = partial(recorded, suite, seconds, folder)
        going = {pool.submit(record, before.get(one, ""), one): one for one in specs}
        for done in as_completed(going):
            yield going[done], done.result()


def try_all(
    suite: Suite, specs: Sequence[Spec], before: dict[Spec, str], seconds: int, workers: int
) -> Iterator[tuple[Spec, str, Outcome]]:
    """Try them in so many processes, each with servers of its own; in the order in which they end."""
    with ProcessPoolExecutor(workers) as pool:
        going = {
            pool.submit(partial(told_of, suite, seconds), before.get(one, ""), one): one
            for one in specs
        }
        for done in as_completed(going):
            if (error := done.exception()) is not None:
                # The others are tried all the same.
                yield going[done], FAILS, Outcome(False, 0, f"not tried: {error!r}")
                continue
            told, outcome = done.result()
            yield going[done], told, outcome
