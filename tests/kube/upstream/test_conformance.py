"""Upstream's conformance specs on runs, where `$KSCOPE_E2E_TEST` names its binary; see the package."""

import pytest

from tests.kube.upstream import page
from tests.kube.upstream.reasons import UNKNOWN, unheld_reason
from tests.kube.upstream.suite import Spec, suite_found
from tests.kube.upstream.trying import tried

SUITE = suite_found()
# Some specs watch for five or ten minutes that nothing happens.
SECONDS = 720


def passing() -> list[tuple[Spec, str]]:
    """The specs of which the page says that they pass, and how."""
    if SUITE is None:
        return []
    said = page.read()
    found = [(one, said.get(page.shown(one), "")) for one in SUITE.conformance(page.SIGS)]
    return [(one, told) for one, told in found if page.is_passed(told)]


@pytest.mark.skipif(SUITE is None, reason="there is no e2e.test ($KSCOPE_E2E_TEST)")
@pytest.mark.parametrize(("spec", "told"), passing(), ids=str)
def test_specs_that_have_passed_pass_again(spec: Spec, told: str) -> None:
    assert SUITE is not None
    outcome = tried(SUITE, spec, SECONDS, is_scripted=told == page.SCRIPTED)
    assert outcome.passed, outcome.why


def test_each_spec_that_fails_has_its_reason() -> None:
    told = page.read()
    assert told
    unexplained = [name for name, one in told.items() if page.is_unexplained(one)]
    assert not unexplained


def test_each_spec_that_passes_is_kept_for_playing() -> None:
    unexplained = [one for one in page.unheld(page.read()) if unheld_reason(one) == UNKNOWN]
    assert not unexplained
