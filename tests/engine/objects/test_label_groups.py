"""Groups: what labels and selectors have in common finds one by the other."""

from random import Random

import pytest

from engine.kernel.groups import Groups
from engine.objects.selectors import LabelSelector, selecting, with_labels

KEYS, VALUES = "ab", "xyz"


def some_labels(chance: Random) -> dict[str, str]:
    return {key: chance.choice(VALUES) for key in KEYS if chance.random() < 0.6}


def some_selector(chance: Random) -> LabelSelector:
    if chance.random() < 0.1:
        return LabelSelector.parse(None)
    expressions = [
        {"key": key, "operator": operator, "values": chance.sample(VALUES, 2)}
        if operator in ("In", "NotIn")
        else {"key": key, "operator": operator}
        for key in KEYS
        if (operator := chance.choice(["", "In", "NotIn", "Exists", "DoesNotExist"]))
    ]
    pairs = some_labels(chance) if chance.random() < 0.5 else {}
    return LabelSelector.parse({"matchLabels": pairs, "matchExpressions": expressions})


@pytest.mark.parametrize("seed", range(30))
def test_selectors_and_labels_find_each_other(seed: int) -> None:
    chance = Random(seed)
    objects, selectors = Groups[int](), Groups[int]()
    labels: dict[int, dict[str, str]] = {}
    given: dict[int, LabelSelector] = {}
    for _ in range(60):
        number = chance.randrange(12)
        if chance.random() < 0.2:
            objects.drop(number), selectors.drop(number)
            labels.pop(number, None), given.pop(number, None)
            continue
        labels[number], given[number] = some_labels(chance), some_selector(chance)
        objects.put(number, with_labels("ns", labels[number]))
        selectors.put(number, selectors.fewest(selecting("ns", given[number])))
        for selector in given.values():
            found = objects.of(objects.fewest(selecting("ns", selector)))
            matching = [one for one in labels if selector.matches(labels[one])]
            assert [one for one in found if selector.matches(labels[one])] == matching
        for own in labels.values():
            found = selectors.of(with_labels("ns", own))
            assert [one for one in found if given[one].matches(own)] == [
                one for one in given if given[one].matches(own)
            ]


def test_the_fewest_candidates_are_looked_at() -> None:
    groups = Groups[str]()
    for place in range(5):
        groups.put(f"p{place}", with_labels("ns", {"app": "all", "name": f"p{place}"}))
    groups.put("other", with_labels("elsewhere", {"app": "all", "name": "p1"}))
    selector = LabelSelector.parse({"matchLabels": {"app": "all", "name": "p1"}})
    assert groups.of(groups.fewest(selecting("ns", selector))) == ["p1"]


def test_a_key_with_new_groups_keeps_place() -> None:
    groups = Groups[str]()
    for name in "abc":
        groups.put(name, [("all",)])
    groups.put("a", [("all",), ("one",)])
    assert groups.of([("one",), ("all",)]) == ["a", "b", "c"]
    groups.drop("a")
    groups.put("a", [("all",)])
    assert groups.of([("all",)]) == ["b", "c", "a"]
