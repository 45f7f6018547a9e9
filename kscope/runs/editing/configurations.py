"""The configuration of a scheduler: the text of one, and what is in force in a run."""

from __future__ import annotations

from typing import Any, Final

import yaml
from django.utils.translation import gettext

from engine.input.document_reader import is_configuration
from engine.objects.documents import DocumentError, Limits, read_documents
from engine.objects.values.shown import shown
from engine.scheduler.configuration.in_force import described
from engine.scheduler.configuration.scenario_schedulers import read_schedulers
from engine.versions.gates import GATES
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from kscope.runs.errors import ApplicationError

LONGEST: Final = 512 * 1024
_LIMITS: Final = Limits(bytes=LONGEST, nodes=100_000, alias_nodes=10_000)


def configuration_of(given: str | bytes | dict[str, Any]) -> dict[str, Any] | None:
    """The configuration that is *given* as a text or as a mapping; None for an empty text.

    Raises ApplicationError for what is none. What it says is checked when a run is made with it.
    """
    if isinstance(given, dict):
        return _checked(given)
    data = given.encode("utf-8", "replace") if isinstance(given, str) else given
    if not data.strip():
        return None
    try:
        documents = read_documents("configuration.yaml", data, _LIMITS)
    except DocumentError as problem:
        words = gettext("configuration: {problem}")
        if problem.line:
            words = gettext("configuration, line {line}: {problem}")
        raise ApplicationError(words.format(line=problem.line, problem=problem)) from problem
    if len(documents) != 1:
        raise ApplicationError(
            gettext(
                "configuration: expected one document, found {number}; a scheduler has one"
            ).format(number=len(documents))
        )
    return _checked(documents[0].value)


def configuration_text(configuration: dict[str, Any] | None) -> str:
    """A configuration as people write it; "" for none."""
    if configuration is None:
        return ""
    return yaml.safe_dump(configuration, allow_unicode=True, sort_keys=False)


def _checked(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ApplicationError(
            gettext("configuration: expected a mapping, found {found}").format(found=shown(given))
        )
    if not is_configuration(given):
        raise ApplicationError(
            gettext(
                "configuration, kind: expected KubeSchedulerConfiguration or Policy, found {kind}"
            ).format(kind=shown(given.get("kind")))
        )
    return given


def in_force(
    document: dict[str, Any], *, profile: str, gates: dict[str, bool], own: dict[str, Any] | None
) -> dict[str, Any]:
    """What decides in a run of the scenario *document*: schedulers, plugins, gates.

    *own* is the configuration that the run has in place of the scenario's.
    """
    version = with_gates(VERSIONS[profile], gates)
    configuration = document.get("configuration") if own is None else own
    specs = read_schedulers(document.get("schedulers") or (), configuration, version)
    return {
        "schedulers": [
            {**described(spec.setup), "replicas": spec.replicas, "external": spec.setup.external}
            for spec in specs
        ],
        "gates": [
            {
                "name": name,
                "sentence": GATES[name].sentence,
                "default": gate.default,
                "value": gates.get(name, gate.default),
                "is_locked": gate.is_locked,
            }
            for name, gate in VERSIONS[profile].feature_gates.items()
        ],
        "source": "run" if own is not None else "scenario" if configuration else "",
    }
