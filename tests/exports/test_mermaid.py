"""The story of a pod as a sequence diagram."""

import re

import pytest

from kscope.exports.encoder import ExportError, Heading
from kscope.exports.mermaid import Mermaid
from tests.exports.plays import played

STEP = re.compile(r"    (p\d+)(->>|-x)(p\d+): (.*)")


def test_each_step_is_between_participants() -> None:
    run = played("checkout-surge")
    first, title, *lines = run.written("mermaid", pod="pod/shop/ledger-1").decode().splitlines()
    assert (first, title) == ("sequenceDiagram", "    title shop/ledger-1, v1.34")
    names = {
        match[1]: match[2]
        for line in lines
        if (match := re.fullmatch(r"    participant (p\d+) as (.*)", line))
    }
    steps = [match for line in lines if (match := STEP.fullmatch(line))]
    assert len(names) + len(steps) == len(lines)
    assert all({match[1], match[3]} <= names.keys() for match in steps)
    told = [(names[match[1]], match[2], names[match[3]]) for match in steps]
    assert ("scheduler", "-x", "pod/batch/reports-6") in told
    assert ("kubelet", "->>", "pod/shop/ledger-1") in told
    assert ("pv-controller", "->>", "claim/shop/data-ledger-1") in told


def test_no_message_means_anything_to_mermaid() -> None:
    text = played("checkout-surge").written("mermaid", pod="pod/shop/ledger-1").decode()
    steps = [match[4] for line in text.splitlines() if (match := STEP.fullmatch(line))]
    assert "#123;dedicated: batch#125;" in text
    assert not any(re.search(r"[{}<>\"`%]", re.sub(r"#\d+;", "", step)) for step in steps)
    assert not any(";" in re.sub(r"#\d+;", "", step) for step in steps)


def test_a_pod_that_is_not_there_is_refused() -> None:
    with pytest.raises(ExportError, match="no pod shop/nobody"):
        played("local-volumes").written("mermaid", pod="pod/shop/nobody")
    with pytest.raises(ExportError, match="none was named"):
        Mermaid(Heading(name="x", profile="v1.36"))


def test_a_long_story_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kscope.exports.mermaid._MOST_CHARACTERS", 400)
    text = played("checkout-surge").written("mermaid", pod="pod/shop/ledger-1").decode()
    assert re.search(r"Note over p\d+: \d+ more events\n$", text)
