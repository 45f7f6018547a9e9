"""Objects as rows of a Table, or as their metadata alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube.resources import Resource
from kube.status import bad_request
from kube.tables.custom import printer_of_custom
from kube.tables.printers import Printer, printer_of

Manifest = dict[str, Any]

_INCLUDED = ("None", "Metadata", "Object")


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows of objects of one resource.

    *version* is that of the Table (v1 or v1beta1), *now* what clocks show, for ages, and *include*
    says what of the object goes along with its row: None, Metadata or Object.
    """

    resource: Resource
    version: str
    now: int
    include: str = "Metadata"

    def __post_init__(self) -> None:
        if self.include not in _INCLUDED:
            raise bad_request(
                f"invalid includeObject value: {self.include!r}; it must be one of "
                f"{', '.join(_INCLUDED)}"
            )

    @property
    def _printer(self) -> Printer:
        custom = self.resource.custom
        return printer_of(self.resource.kind) if custom is None else printer_of_custom(custom)

    def head(self, resource_version: str) -> Manifest:
        """The Table without its rows."""
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": {"resourceVersion": resource_version},
            "columnDefinitions": [column.definition() for column in self._printer.headings],
        }

    def row(self, one: Mapping[str, Any]) -> Manifest:
        """One object, which has its defaults, as a row."""
        printer = self._printer
        row: Manifest = {"cells": printer.cells(one, self.now)}
        if conditions := printer.conditions(one):
            row["conditions"] = conditions
        if self.include == "Metadata":
            row["object"] = partial(one, self.version)
        elif self.include == "Object":
            row["object"] = one
        return row


def partial(one: Mapping[str, Any], version: str) -> Manifest:
    """The metadata of an object, as a PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": one["metadata"],
    }
