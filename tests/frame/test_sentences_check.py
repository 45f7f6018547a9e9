"""The check of the engine's sentences finds those that are glued from parts."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "sentences.py"
spec = importlib.util.spec_from_file_location("ci_sentences", SCRIPT)
assert spec is not None
assert spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.mark.parametrize(
    "call",
    [
        "say(f'It fits {node}.')",
        "say('It fits ' + node)",
        "say(', from its class {name}', name=name)",
        "say(' on {node}', node=node)",
        "say('Pod {pod}{owner} waits.', pod=pod, owner=owner)",
        "say('Remove the gate{several} {names}', several=several, names=names)",
        "say_count('{kind}s wait', '{count} wait', 2, kind=kind)",
        "say('Node {node} {state}.', node=node, state='is ready')",
        "say('Node {node} {state}.', node=node, state='is ready' if ready else 'is not')",
        "say('Node {node} waits {why}.', node=node, why=f'because of {pod} there')",
        "say('It is in {zones}.', zones=', '.join(zones))",
        "TEXT.say(state='ready' if ready else 'not ready')",
    ],
)
def test_a_glued_sentence_is_found(call: str) -> None:
    assert len(list(script.faults(f"def told():\n    return {call}\n"))) == 1


def test_words_in_a_variable_are_found() -> None:
    source = "def told():\n    verb = 'is' if one else 'are'\n    return say('{n} {verb} up', n=n, verb=verb)\n"
    assert list(script.faults(source)) == ["3: the place verb is filled with words of ours"]


@pytest.mark.parametrize(
    "call",
    [
        "say('It fits {node} now.', node=node.name)",
        "say('{node} has {key}={value}.', node=node, key=key, value='Never' if never else value)",
        "say_count('{count} {kind}', '{count} {kind}s', 2, kind=kind)",
        "say('It says: {message}.', message=verbatim(f'claim {name} not found there'))",
    ],
)
def test_a_whole_sentence_passes_the_check(call: str) -> None:
    assert list(script.faults(f"def told():\n    return {call}\n")) == []
