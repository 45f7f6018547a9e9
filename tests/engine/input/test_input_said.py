"""What is said of files that are read are sentences, which another language can say as well."""

from dataclasses import asdict

import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.kernel.sentences import Sentence
from engine.kernel.stored_sentences import restored, stored
from engine.scheduler.configuration.scenario_schedulers import check_setup

WRONG = {
    "not YAML": "kind: [",
    "not JSON": '{"kind": "Pod", ',
    "empty": "",
    "nothing of it": "apiVersion: v1\nkind: Gadget\nmetadata: {name: g}\n",
    "no text": "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: s}\nspec: {question: 7}\n",
    "unknown field": "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: s}\nspec: {who: me}\n",
    "wrong step": (
        "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: s}\n"
        "spec: {steps: [{at: 1s, delete: nothing}]}\n"
    ),
    "no name": "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: c}]}\n",
    "budget": (
        "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: s}\nspec: {budget: {events: 0}}\n"
    ),
}


def load(text: str, name: str = "a.yaml") -> LoadResult:
    return load_files([(name, text.encode())], check=check_setup)


@pytest.mark.parametrize("what", WRONG)
def test_problems_of_files_are_sentences(what: str) -> None:
    problems = load(WRONG[what], "a.json" if what == "not JSON" else "a.yaml").problems
    assert problems
    for each in problems:
        assert isinstance(each.message, Sentence), each.message
        assert each.message.id


POD = """apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: c}], nodeName: gone, volumes: [{name: d, persistentVolumeClaim: {claimName: x}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Role
metadata: {name: reader}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, sizes: 3}
"""


def test_notes_on_files_are_sentences() -> None:
    result = load(POD)
    assert result.problems == []
    told = [
        *(each.sentence for each in result.placeholders),
        *(text for each in result.questions for text in (each.text, each.answer)),
        *(each.note for each in result.left_out),
        *result.unknown_fields,
    ]
    assert len(told) >= 6
    assert [each for each in told if not (isinstance(each, Sentence) and each.id)] == []


def test_a_kept_report_has_its_sentences() -> None:
    report = load(POD).to_report()
    kept = stored(report)
    assert restored(kept) == report
    (placeholder, *_) = restored(kept)["placeholders"]
    assert placeholder["sentence"].id


def test_a_placeholder_is_marked_with_plain_text() -> None:
    (placeholder, *_) = load(POD).placeholders
    mark = placeholder.manifest["metadata"]["annotations"]["kscope.dev/placeholder"]
    assert type(mark) is str
    assert mark == asdict(placeholder)["sentence"]
