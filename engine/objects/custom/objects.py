"""An object of a kind that a CustomResourceDefinition adds."""

from __future__ import annotations

from engine.objects.custom.definition import group_of, kind_in_group
from engine.objects.kinds import entity_id
from engine.objects.objects import ApiObject, Manifest


class CustomObject(ApiObject):
    """As any object, but its kind is called by its group, too: see `definition`.

    The manifest has the kind as clients write it.
    """

    def __init__(self, raw: Manifest) -> None:
        super().__init__(raw)
        self.kind = kind_in_group(str(raw["kind"]), group_of(raw))
        self.id = entity_id(self.kind, self.key)
