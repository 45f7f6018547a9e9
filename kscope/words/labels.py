"""What the admin calls tables and columns, in the language of who reads it."""

from typing import Any

from django.db.models import Model
from django.utils.functional import Promise


def label_fields(model: type[Model], **labels: str | Promise) -> None:
    """Let heads of columns, filters and forms call fields so.

    Not said in the models: there each label would be a step of a migration, and every new database
    would have to take them all.
    """
    for name, label in labels.items():
        field: Any = model._meta.get_field(name)
        field.verbose_name = label


def label_model(model: type[Model], one: str | Promise, many: str | Promise) -> None:
    """Let the admin call one row of a table so, and many."""
    model._meta.verbose_name = one  # pyright: ignore[reportAttributeAccessIssue]
    model._meta.verbose_name_plural = many  # pyright: ignore[reportAttributeAccessIssue]
