"""schemathesis asks the REST API what its document allows, and what it does not, and finds no break."""

from random import Random
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup

from kscope.runs import services
from kscope.runs.models import Run, Scenario
from scheduling.models import SchedulingAttempt
from tests.fuzz.limits import Tally, numbers_of
from tests.fuzz.test_web import Site, site  # noqa: F401

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runs_here")]

# Requests for one number; the first that hypothesis makes is always the simplest.
EACH = 5
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
# What a document cannot say: which profiles there are, that `from` comes before `to`, what of a file
# can be read. Such a request is refused with 400 or 422, which this check does not know.
BEYOND = "positive_data_acceptance"
KNOWN = {"namespace": "default", "name": "web", "entity": "pod/default/web"}


class Asker:
    """The operations of the document, asked in turn."""

    def __init__(self, site: Site) -> None:  # noqa: F811
        self.site = site
        application = get_wsgi_application()
        schema = schemathesis.openapi.from_wsgi(
            "/api/v1/schema/", application, headers={"Accept": "application/json"}
        )
        self.operations = sorted(
            (result.ok() for result in schema.get_all_operations()), key=lambda each: each.label
        )
        load_all_checks()
        self.checks = [check for check in CHECKS.get_all() if check.__name__ != BEYOND]

    def ask(self, number: int) -> bool:
        """Send the requests of a number; raises for a break of the contract."""
        operation = self.operations[number % len(self.operations)]
        chance, answers = Random(f"rest {number}"), list[int]()
        strategy = operation.as_strategy(generation_mode=chance.choice(MODES))

        @seed(number)
        @settings(
            max_examples=EACH,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=[*HealthCheck],
        )
        @given(case=strategy)
        def asked(case: Any) -> None:
            if chance.random() < 0.8:
                case.path_parameters = {**(case.path_parameters or {}), **self._there(operation)}
            answer = case.call()
            case.validate_response(answer, checks=self.checks)
            answers.append(answer.status_code)

        try:
            asked()
        except Unsatisfiable:
            return False  # there is no wrong request of this operation
        except FailureGroup as found:
            told = "\n\n".join(str(each) for each in found.exceptions)
            raise AssertionError(f"{operation.label}: {told}") from None
        return any(status < 300 for status in answers)

    def _there(self, operation: Any) -> dict[str, Any]:
        """What there is, for the places of an address; what is deleted is made for that."""
        run, method = self.site.run, operation.method.upper()
        attempt = SchedulingAttempt.objects.filter(run=run).first()
        there = {
            "run_id": run.pk,
            "scenario_id": run.scenario_id,
            "attempt_id": attempt.pk if attempt else 1,
            **KNOWN,
        }
        if method == "DELETE":
            there["run_id"] = services.run_create(scenario=run.scenario).pk
        names = {each.name for each in operation.path_parameters}
        return {name: value for name, value in there.items() if name in names}


@pytest.mark.filterwarnings("ignore")
def test_the_api_keeps_to_its_document(site: Site) -> None:  # noqa: F811
    asker, tally = Asker(site), Tally("rest")
    for number in numbers_of("rest"):
        tally.watch(number, lambda number=number: asker.ask(number))
        Run.objects.exclude(pk=site.run.pk).delete()
        Scenario.objects.exclude(pk=site.run.scenario_id).delete()
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
