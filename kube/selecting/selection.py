"""What a request selects, by labels and by fields."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.objects.selectors import Requirement
from kube.resources import Resource
from kube.selecting.fields import NAME, FieldTerm, Getter, Manifest, fields_of, fields_selected
from kube.selecting.label_parser import labels_selected


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a request means: those that meet every condition."""

    labels: tuple[Requirement, ...]
    fields: tuple[FieldTerm, ...]
    _getters: Mapping[str, Getter]

    @classmethod
    def parse(cls, resource: Resource, labels: str, fields: str) -> "Selection":
        """What a labelSelector and a fieldSelector select. Raises ApiError."""
        return cls(labels_selected(labels), fields_selected(fields, resource), fields_of(resource))

    @property
    def is_all(self) -> bool:
        """Whether every object is meant."""
        return not self.labels and not self.fields

    @property
    def name(self) -> str:
        """The only name that is meant, or "" for several."""
        return next((one.wanted for one in self.fields if one.is_equal and one.field == NAME), "")

    def matches(self, manifest: Manifest) -> bool:
        """Whether the object is meant; *manifest* has its defaults."""
        labels = manifest["metadata"].get("labels") or {}
        return all(one.matches(labels) for one in self.labels) and all(
            (self._getters[one.field](manifest) == one.wanted) == one.is_equal
            for one in self.fields
        )
