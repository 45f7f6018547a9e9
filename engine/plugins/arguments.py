"""What the arguments of several plugins have in common, checked as upstream checks it.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go
"""

from __future__ import annotations

from typing import Final

from engine.input.reading import ConfigurationError, Fields
from engine.objects.selectors import label_key_fault

META: Final = ("kind", "apiVersion")


def label_names(fields: Fields, name: str) -> None:
    """Raise ConfigurationError unless *name* lists label keys.

    Upstream: metav1validation.ValidateLabelName().
    """
    for place, text in enumerate(fields.texts(name)):
        fault = label_key_fault(text)
        if fault is not None:
            raise ConfigurationError(f"{fields.at(name)}[{place}]", text, fault)


def resource_weights(fields: Fields, highest: int) -> None:
    """Raise ConfigurationError unless `resources` have names, and weights of at most *highest*."""
    for resource in fields.items("resources"):
        resource.only("name", "weight")
        if not resource.text("name"):
            raise resource.error("name", "is missing")
        # Upstream: SetDefaults_NodeResourcesFitArgs() makes 1 of 0.
        resource.integer("weight", 1, low=0, high=highest)


def check_shape(fields: Fields, name: str, highest: int) -> None:
    """Raise ConfigurationError unless *name* is a function of utilization.

    It has at least one point; the points are in order, each in 0..100.
    """
    points = fields.items(name)
    if not points:
        raise fields.error(name, "at least one point must be specified")
    last = -1
    for point in points:
        point.only("utilization", "score")
        utilization = point.integer("utilization", 0, low=0, high=100)
        if utilization <= last:
            raise point.error("utilization", "values must be sorted in increasing order")
        last = utilization
        point.integer("score", 0, low=0, high=highest)


def no_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where there are arguments."""
    fields.only(*META)
