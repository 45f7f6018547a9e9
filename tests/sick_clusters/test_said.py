"""Every text of an answer can be said in another language."""

import pytest

from tests.sick_clusters.said import Bracketed, unsaid

SEEDS = (1, 7, 31)


def test_only_patterns_stand_in_brackets() -> None:
    assert Bracketed().gettext("Pod {pod} waits.") == "⟦Pod ⟧{pod}⟦ waits.⟧"


@pytest.mark.parametrize("seed", SEEDS)
def test_an_answer_has_words_of_a_catalogue_alone(seed: int) -> None:
    assert unsaid(seed) == {}
