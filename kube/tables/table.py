"""Objects as rows of a Table, or as their metadata alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube.resources import Resource
from kube.status import bad_request
from kube.tables.columns import COLUMNS, USUAL, Column

Manifest = dict[str, Any]

_INCLUDED = ("None", "Metadata", "Object")


@dataclass(frozen=True, slots=True)
class Rows:
    """Makes rows of objects of one resource.

    *version* is that of the Table (v1 or v1beta1), *now* the virtual time for ages, and *include*
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
    def columns(self) -> tuple[Column, ...]:
        """The columns of the resource's kind."""
        return COLUMNS.get(self.resource.kind, USUAL)

    def head(self, resource_version: str) -> Manifest:
        """The Table without its rows."""
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": {"resourceVersion": resource_version},
            "columnDefinitions": [column.definition() for column in self.columns],
        }

    def row(self, one: Mapping[str, Any]) -> Manifest:
        """One object as a row."""
        row: Manifest = {"cells": [column.get(one, self.now) for column in self.columns]}
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
