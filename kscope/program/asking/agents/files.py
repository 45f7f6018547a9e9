"""Tools that ask about files: each is a question of the program, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from kscope.program.asking.agents.refusals import Refusal
from kscope.program.speech.errors import Status

_SECONDS: Final = 600
# What an agent reads is paid for by the word.
MOST_CHARACTERS: Final = 400_000
_ANSWERS: Final = (Status.FINE, Status.BAD, Status.UNSEEN)
# The formats of an export that are texts about the whole run, or about one pod.
TEXTS: Final = ("yaml", "mermaid", "openmetrics", "ndjson", "csv", "events", "otlp")


def triage(source: str, namespace: str = "", profile: str = "", nodes: str = "") -> dict[str, Any]:
    """What is stuck in a cluster, grouped by cause, with the best change that was tried for each.

    source: a file, folder or archive of what `kubectl get … -o yaml` prints. profile: the version of
    Kubernetes, such as v1.36. nodes: nodes to add, such as 10xm5.large.
    """
    return _document("triage", source, n=namespace, profile=profile, nodes=nodes)


def why(
    source: str, object: str, namespace: str = "", profile: str = "", changes: str = "best"
) -> dict[str, Any]:
    """Why an object is in its state: what was observed, what the model decides, which changes help.

    object: TYPE/NAME, such as pod/web-3 or pvc/data. changes: all, best or none are tried.
    """
    return _document("why", source, object, n=namespace, profile=profile, changes=changes)


def diff(source: str, profiles: list[str], object: str = "", namespace: str = "") -> dict[str, Any]:
    """Which pods are decided otherwise under another version of Kubernetes, and by which rule.

    profiles: two versions, the older first, such as v1.34 and v1.36.
    """
    words = [word for each in profiles for word in ("--profile", each)]
    return _document("diff", source, *filter(None, [object]), *words, n=namespace)


def simulate(source: str, until: str = "", profile: str = "", nodes: str = "") -> dict[str, Any]:
    """Play a scenario to its end: what was placed where, what waits and why, who was evicted.

    until: virtual time to stop at, such as 10m.
    """
    return _document("simulate", source, until=until, profile=profile, nodes=nodes)


def gate(source: str, profile: str = "", fail_on: str = "") -> dict[str, Any]:
    """Hold scenarios against what their spec.expect says, and say why what does not hold does not.

    fail_on: also without expectations, a list of pending, evicted, unbound, failed.
    """
    return _document("test", source, profile=profile, fail_on=fail_on)


def export(source: str, format: str, pod: str = "", at: str = "") -> str:
    """Play files or a .kscope file, and print them in another format.

    format: yaml (the cluster at its end, or `at`), mermaid (of one pod, NAMESPACE/NAME), openmetrics,
    ndjson or csv (every event), events (an EventList), otlp (spans).
    """
    if format not in TEXTS:
        raise Refusal(f"format is {format!r}; it must be one of {', '.join(TEXTS)}")
    namespace, _, name = pod.rpartition("/")
    subject = [f"pod/{name}"] if pod else []
    return _asked("export", source, *subject, "-", o=format, n=namespace, at=at)


def _document(command: str, *words: str, **flags: str) -> dict[str, Any]:
    return json.loads(_asked(command, *words, o="json", **flags))


def _asked(command: str, *words: str, **flags: str) -> str:
    """What the program prints. Raises Refusal with what it says where it has no answer."""
    line = [sys.executable, "-m", "kscope.program", command, *words, "--quiet", *_flags(flags)]
    # Its standard input is not this server's, on which the agent speaks.
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
    except subprocess.TimeoutExpired as error:
        raise Refusal(f"no answer within {_SECONDS:,} s; ask about less") from error
    if done.returncode not in _ANSWERS or not done.stdout:
        raise Refusal(done.stderr.strip() or f"kscope {command} ended with {done.returncode}")
    if len(done.stdout) > MOST_CHARACTERS:
        raise Refusal(
            f"the answer has {len(done.stdout):,} characters, and {MOST_CHARACTERS:,} are handed out: "
            "name a namespace, or an object"
        )
    return done.stdout


def _flags(values: Mapping[str, str]) -> list[str]:
    """Flags that were given; a value that begins with a dash stays one."""
    given = {name.replace("_", "-"): value for name, value in values.items() if value}
    return [
        word
        for name, value in given.items()
        for word in ([f"-{name}", value] if len(name) == 1 else [f"--{name}={value}"])
    ]


TOOLS: Final = (triage, why, diff, simulate, gate, export)
