"""schemathesis asks the REST API what its document allows, and what it does not, and finds no break."""

import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup

from kscope.runs import services
from kscope.runs.models import Run, Scenario
from kscope.runs.rows.sheet import SORTS
from kscope.runs.web.contract.paging import written
from scheduling.models import SchedulingAttempt
from tests.fuzz.limits import Tally, numbers_of
from tests.fuzz.test_web import Site, site  # noqa: F401

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runs_here")]

# Requests for one number; the first that hypothesis makes is always the simplest.
EACH = 5
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
# The check that what the document allows is accepted.
ACCEPTANCE = "positive_data_acceptance"
# Refusals with 400 or 422 that no document can foresee: by operation, of which requests, and why. All
# other requests that the document allows are accepted, or meet a cluster that is otherwise (404, 409).
BEYOND: dict[str, tuple[Callable[[Any], Any], str]] = {
    "POST /api/v1/scenarios/": (lambda case: True, "what of a file can be read"),
    "POST /api/v1/runs/{run_id}/commands/": (
        lambda case: (
            not {"manifest", "patch", "labels"}.isdisjoint(case.body)
            or "object" not in case.body
            or case.body["verb"] in WITH_PARTS
        ),
        "which parts a verb needs, and what an object of Kubernetes may hold",
    ),
    "POST /api/v1/runs/": (
        lambda case: case.body.get("configuration") or case.body.get("feature_gates"),
        "which gates and plugins a version has",
    ),
    "POST /api/v1/runs/{run_id}/fork/": (
        lambda case: (
            case.body.get("configuration")
            or case.body.get("feature_gates")
            or case.body.get("external_scheduler")
        ),
        "which gates and plugins a version has; whether the parent's scheduler is external",
    ),
    "GET /api/v1/runs/{run_id}/diff/": (
        lambda case: case.query["from"] > case.query["to"],
        "that `from` is not later than `to`",
    ),
    "GET /api/v1/runs/{run_id}/export/": (
        lambda case: (
            not {"seq", "at"}.isdisjoint(case.query)
            or (case.query.get("format") == "mermaid" and not case.query.get("pod"))
        ),
        "which formats are of an instant, and which are of one pod",
    ),
    "GET /api/v1/runs/{run_id}/rows/{kind}/": (
        lambda case: case.query.get("sort") not in SORTS[case.path_parameters["kind"]],
        "which kind of row is sorted by what",
    ),
    "GET /api/v1/runs/{run_id}/inside/scheduler/": (
        lambda case: not (case.query.get("cycle") or case.query.get("pod")),
        "that one of two parameters is needed",
    ),
    "GET /api/v1/runs/{run_id}/inside/volumes/": (
        lambda case: sum(bool(case.query.get(name)) for name in ("claim", "pod", "node")) != 1,
        "that just one of three parameters is needed",
    ),
}
WITH_PARTS = ("create", "apply", "replace", "patch", "resize", "note", "fault")
# schemathesis' own, and that a body is too long.
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429", "5xx"]
REUSED = "This Idempotency-Key was sent with another request"
GIVEN_OUT = dict.fromkeys(
    ("GET /api/v1/runs/{run_id}/objects/", "GET /api/v1/runs/{run_id}/diff/"),
    written("pod/default/late"),
)
KNOWN = {"namespace": "default", "name": "web", "entity": "pod/default/web"}


class Asker:
    """The operations of the document, asked in turn."""

    def __init__(self, site: Site) -> None:  # noqa: F811
        self.site = site
        self.spent = 0.0
        """Processor seconds that the answers have taken, without the making of the requests."""
        application = get_wsgi_application()
        # U+0000 is refused in every text: tests/rest/test_problems.py.
        config = SchemathesisConfig.from_dict(
            {
                "generation": {"allow-x00": False},
                "checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}},
            }
        )
        schema = schemathesis.openapi.from_wsgi(
            "/api/v1/schema/", application, config=config, headers={"Accept": "application/json"}
        )
        self.operations = sorted(
            (result.ok() for result in schema.get_all_operations()), key=lambda each: each.label
        )
        load_all_checks()
        self.checks = CHECKS.get_all()
        self.excused = [check for check in self.checks if check.__name__ != ACCEPTANCE]

    def ask(self, number: int) -> bool:
        """Send the requests of a number; raises for a break of the contract."""
        operation = self.operations[number % len(self.operations)]
        chance, answers = Random(f"rest {number}"), list[int]()
        mode = chance.choice(MODES)
        strategy = operation.as_strategy(generation_mode=mode)

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
            if mode is GenerationMode.POSITIVE and "continue" in (case.query or {}):
                # Only the server makes one.
                case.query["continue"] = GIVEN_OUT.get(operation.label, written(3))
            started = time.process_time()
            answer = case.call()
            self.spent += time.process_time() - started
            is_beyond = mode is GenerationMode.NEGATIVE or _is_beyond(case, answer)
            case.validate_response(answer, checks=self.excused if is_beyond else self.checks)
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


def _is_beyond(case: Any, answer: Any) -> bool:
    """Whether no document could have told a client that this request is refused."""
    if answer.status_code not in (400, 422):
        return False
    if answer.status_code == 422 and REUSED in answer.text:
        return True
    refused, _ = BEYOND.get(case.operation.label, (lambda _: False, ""))
    return bool(refused(case))


@pytest.mark.filterwarnings("ignore")
def test_the_api_keeps_to_its_document(site: Site) -> None:  # noqa: F811
    asker = Asker(site)
    tally = Tally("rest", spent=lambda: asker.spent)
    for number in numbers_of("rest"):
        tally.watch(number, lambda number=number: asker.ask(number))
        Run.objects.exclude(pk=site.run.pk).delete()
        Scenario.objects.exclude(pk=site.run.scenario_id).delete()
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
