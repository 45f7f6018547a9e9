"""`kind: Lesson` documents: what is refused, and where the message says that it stands."""

from engine.cluster.checks.lesson_checks import lesson_problems
from engine.input.lessons.lesson import Lesson
from engine.input.lessons.words import words_of
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario

SCENARIO = """apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: small}
spec: {duration: 10s}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
"""

LESSON = """apiVersion: kscope.dev/v1
kind: Lesson
metadata: {name: first}
spec:
  course: A course
  title: A lesson
  teaches: That a pod gets a node.
  moments:
    assumed: {event: PodAssumed, object: pod/default/web}
  steps:
  - title: A step
    at: assumed
    text: ["At [](@assumed) [web](pod/default/web) gets [n1](pod/default/web#assumed)."]
    ask:
      question: Where does it go?
      options:
      - {text: n1, entity: node/n1, right: true}
      - {text: nowhere}
    assert:
    - {object: pod/default/web, has: {assumed: n1, node: null}}
    - {event: assumed, has: {component: scheduler}}
    - {attempt: assumed, has: {node: n1, feasible: 1}}
"""


def load(lesson: str, scenario: str = SCENARIO) -> LoadResult:
    return load_files([("a.yaml", (scenario + lesson).encode())])


def found(lesson: str) -> list[str]:
    """What the loader says of the lesson, or else what its run says."""
    result = load(lesson)
    problems = result.problems or [*lesson_problems(result, "small")]
    return [str(each).removeprefix("a.yaml, document 4, ") for each in problems]


def test_true_lesson_has_no_problem() -> None:
    assert found(LESSON) == []


def test_unknown_moment_is_named_with_its_line() -> None:
    assert found(LESSON.replace("[](@assumed)", "[](@bound)")) == [
        'line 28, spec.steps[0].text[0]: the lesson has no moment "bound"; it has assumed'
    ]


def test_instant_that_never_comes_is_named() -> None:
    assert found(LESSON.replace("PodAssumed", "PodEvicted")) == [
        "line 24, spec.moments.assumed: the run has no such instant: "
        "event PodEvicted of pod/default/web"
    ]


def test_object_that_is_not_there_is_named() -> None:
    assert found(LESSON.replace("[web](pod/default/web)", "[web](pod/default/webb)"))[0].startswith(
        "line 28, spec.steps[0].text[0]: the run has no pod/default/webb then"
    )


def test_wrong_fact_tells_both_values() -> None:
    assert found(LESSON.replace("assumed: n1, node", "assumed: n2, node")) == [
        'line 35, spec.steps[0].assert[0].has.assumed: the lesson says "n2", and the run has "n1"'
    ]


def test_wrong_fact_of_an_attempt_is_found() -> None:
    assert found(LESSON.replace("feasible: 1", "feasible: 2")) == [
        "line 37, spec.steps[0].assert[2].has.feasible: the lesson says 2, and the run has 1"
    ]


def test_question_needs_exactly_one_right_option() -> None:
    assert found(LESSON.replace("{text: nowhere}", "{text: nowhere, right: true}")) == [
        "line 31, spec.steps[0].ask.options: "
        "a question has at least two options, exactly one of which is right"
    ]


def test_unknown_field_of_a_step_is_refused() -> None:
    assert found(LESSON.replace("    at: assumed\n", "    at: assumed\n    colour: red\n")) == [
        "line 28, spec.steps[0].colour: "
        'unknown field; known are title, at, text, select, page, ask, assert, found "red"'
    ]


def test_missing_field_is_named_at_its_parent() -> None:
    assert found(LESSON.replace("  teaches: That a pod gets a node.\n", "")) == [
        "line 19, spec.teaches: is missing"
    ]


def test_lesson_of_another_scenario_is_refused() -> None:
    lesson = LESSON.replace("  moments:", "  run: {scenario: large}\n  moments:")
    assert found(lesson) == [
        'line 23, spec.run.scenario: the files have the scenario "small"; '
        'load a lesson together with its scenario, found "large"'
    ]


def test_lesson_alone_is_not_enough() -> None:
    assert [str(each) for each in load(LESSON, "").problems] == [
        "a.yaml: nothing that kscope simulates was found"
    ]


def test_two_lessons_need_two_names() -> None:
    problems = load(f"{LESSON}---\n{LESSON}").problems
    assert [(each.document, each.field, each.message) for each in problems] == [
        (5, "metadata.name", "is the name of two lessons")
    ]


def test_step_can_say_its_own_moment() -> None:
    inline = LESSON.replace("    at: assumed", "    at: {event: PodRunning, nth: -1}")
    assert found(inline)[0].startswith("line 28, spec.steps[0].text[0]: pod/default/web has no")


def test_lesson_of_a_scenario_leaves_its_run_alone() -> None:
    alone, with_lesson = load(""), load(LESSON)
    assert Scenario.from_load(alone, name="a") == Scenario.from_load(with_lesson, name="a")


def test_marks_in_texts_become_words() -> None:
    words = [*words_of("The [claims](?claim) at [](@bound): `x` [a](pod/d/a#node@bound)[b](c d).")]
    assert [(one.kind, one.text) for one in words] == [
        ("text", "The "),
        ("term", "claims"),
        ("text", " at "),
        ("moment", ""),
        ("text", ": "),
        ("code", "x"),
        ("text", " "),
        ("object", "a"),
        ("text", "[b](c d)."),
    ]
    assert (words[1].term, words[3].moment) == ("claim", "bound")
    assert (words[7].object, words[7].attribute, words[7].moment) == ("pod/d/a", "node", "bound")


def test_longer_lessons_take_more_minutes() -> None:
    (first,) = load(LESSON).lessons
    much = " ".join(["word"] * 700)
    (longer,) = load(LESSON.replace("[n1]", f"{much} [n1]")).lessons
    told = [Lesson.from_document(one.document) for one in (first, longer)]
    # 700 words at 180 a minute.
    assert [one.minutes for one in told] == [1, 4]
    # Words of another language are not counted again.
    assert told[1].with_texts(lambda _, text: "一").minutes == 4
