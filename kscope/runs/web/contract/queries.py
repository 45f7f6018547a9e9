"""The parameters in the query of an address: one declaration describes them and checks them."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers

# Seqs, and virtual nanoseconds: 18 digits, which every column and client can hold.
MOST = 10**18 - 1
LONGEST_TEXT = 4_096

Field = serializers.Field[Any, Any, Any, Any]


class WholeNumber(serializers.IntegerField):
    """A whole number, not below 0."""

    def to_internal_value(self, data: Any) -> int:
        """See rest_framework. Raises ValidationError."""
        text = str(data)
        if not (text.isascii() and text.isdigit()) or len(text) > 18:
            words = gettext("{value} is not a whole number of at least 0")
            raise serializers.ValidationError(words.format(value=repr(text)))
        number, least, most = int(text), self.min_value, self.max_value
        if (least is not None and number < least) or (most is not None and number > most):
            words = gettext("{value} is not between {least} and {most}")
            raise serializers.ValidationError(words.format(value=number, least=least, most=most))
        return number


class Query(serializers.Serializer):
    """The parameters of an operation. What is not given, or empty, is None."""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> dict[str, Any]:
        """The values in a query. Raises ValidationError, which names each that is wrong."""
        wanted = cls(data={name: text for name, text in given.items() if text != ""})
        wanted.is_valid(raise_exception=True)
        return {**dict.fromkeys(wanted.fields), **wanted.validated_data}


def query(name: str, fields: Mapping[str, Field], doc: str = "") -> type[Query]:
    """A query with these *fields*; some have names that no attribute can have, such as `from`."""
    return type(name, (Query,), {**fields, "__doc__": doc or f"The parameters of {name}."})


def whole(text: str, *, least: int = 0, most: int = MOST, required: bool = False) -> Field:
    """A whole number between *least* and *most*."""
    return WholeNumber(min_value=least, max_value=most, required=required, help_text=text)


def words(text: str, *, most: int = LONGEST_TEXT, required: bool = False) -> Field:
    """Any text of at most so many characters."""
    return serializers.CharField(
        required=required,
        allow_blank=not required,
        trim_whitespace=False,
        max_length=most,
        help_text=text,
    )


def one_of(choices: Iterable[str], text: str = "", *, required: bool = False) -> Field:
    """One of the *choices*; a refusal names them."""
    known = [*choices]
    return serializers.ChoiceField(
        known,
        required=required,
        allow_blank=not required,
        help_text=text,
        error_messages={"invalid_choice": _unknown(known)},
    )


def _unknown(known: list[str]) -> str:
    return '"{input}" is none of ' + ", ".join(known)


def switch(text: str) -> Field:
    """Whether something is wanted: 1, or 0."""
    return _Switch(required=False, allow_blank=True, help_text=text)


class _Switch(serializers.ChoiceField):
    """A choice of 0 and 1, which becomes a boolean."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            ["0", "1"], error_messages={"invalid_choice": _unknown(["0", "1"])}, **options
        )

    def to_internal_value(self, data: Any) -> bool:
        """See rest_framework. Raises ValidationError."""
        return str(super().to_internal_value(data)) == "1"


SEQ = "after this event; the newest when absent"


def entity_name(asked: Mapping[str, Any], kind: str) -> str:
    """The value of the parameter *kind*, an object of that kind: NAMESPACE/NAME or NAME; "" for none.

    "pod/NAMESPACE/NAME", as events name it, is the same.
    """
    return str(asked[kind] or "").removeprefix(f"{kind}/")
