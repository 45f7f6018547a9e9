"""Columns of tables with manifests: the manifest itself, and texts of it that are filtered on."""

from typing import Any, ClassVar, LiteralString

import orjson
from django.db import models
from django.http import Http404

from kscope.runs.manifests.packed import (
    DICTIONARY,
    UnknownDictionary,
    dictionary_note,
    loss_note,
    packed_alone,
    text_of,
)

Manifest = dict[str, Any]


class ManifestField(models.BinaryField):
    """A manifest, stored as `packed` says.

    Reading one whose run is deleted meanwhile, with its dictionary, raises Http404.
    """

    def from_db_value(self, value: bytes | None, _expression: Any, connection: Any) -> Any:
        """See Field."""
        if value is None:
            return None
        value = bytes(value)
        try:
            text = text_of(value)
        except UnknownDictionary as unknown:
            with connection.cursor() as cursor:
                cursor.execute(DICTIONARY, [unknown.digest])
                row = cursor.fetchone()
            if row is None:
                loss_note(unknown)
                raise Http404(str(unknown)) from unknown
            dictionary_note(bytes(row[0]), bytes(row[1]))
            text = text_of(value)
        return orjson.loads(text)

    def get_prep_value(self, value: Any) -> Any:
        """See Field."""
        return packed_alone(value) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        """See Field."""
        return orjson.loads(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        """See Field."""
        return orjson.dumps(self.value_from_object(obj)).decode()


class OfManifest(models.Field):
    """A column that says what stands in the manifest; whoever writes a row writes it, too.

    *paths* are those at which it may stand: the first at which there is something counts.
    """

    SQL_TYPE: ClassVar[LiteralString]

    def __init__(self, *paths: tuple[str, ...], **options: Any) -> None:
        self.paths = paths
        # Most columns have one path, of two names.
        self._place = paths[0] if [len(path) for path in paths] == [2] else None
        super().__init__(**options, editable=False)

    def deconstruct(self) -> Any:
        """See Field. What stands in a migration is the column alone."""
        name, _, _, options = super().deconstruct()
        del options["editable"]
        return name, f"django.db.models.{type(self).__bases__[1].__name__}", [], options

    def found_in(self, manifest: Manifest) -> Any:
        """What stands at the paths, or None."""
        for path in self.paths:
            found: Any = manifest
            for name in path:
                if found.__class__ is not dict:
                    found = None
                    break
                found = found.get(name)
            if found is not None:
                return found
        return None

    def value_in(self, manifest: Manifest) -> Any:
        """The value of the column for *manifest*."""
        raise NotImplementedError

    def pre_save(self, model_instance: Any, add: bool) -> Any:
        """See Field."""
        value = self.value_in(model_instance.manifest)
        setattr(model_instance, self.attname, value)
        return value


class TextOfManifest(OfManifest, models.TextField):
    """The text there; of what is no text its JSON, as PostgreSQL's operator #>> has it."""

    SQL_TYPE = "text"

    def value_in(self, manifest: Manifest) -> str:
        """See OfManifest."""
        if self._place is not None:
            part: Any = manifest.get(self._place[0])
            found: Any = part.get(self._place[1]) if part.__class__ is dict else None
        else:
            found = self.found_in(manifest)
        if found.__class__ is str:
            return found
        return str(self.get_default()) if found is None else orjson.dumps(found).decode()


class FlagOfManifest(OfManifest, models.BooleanField):
    """Whether there is true."""

    SQL_TYPE = "boolean"

    def value_in(self, manifest: Manifest) -> bool:
        """See OfManifest."""
        return self.found_in(manifest) is True


def columns_of(model: type[models.Model]) -> list[OfManifest]:
    """Those of a table, in their order."""
    return [each for each in model._meta.concrete_fields if isinstance(each, OfManifest)]
