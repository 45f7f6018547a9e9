"""Reading configuration files: every fault is reported with its path and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from engine.api_server.validation.report import LONGEST_OBJECT_NAME, text_fault
from engine.input.any_case import in_any_case
from engine.input.scenario import parse_duration
from engine.kernel.errors import SimError
from engine.kernel.sentences import said_by, say
from engine.objects.values.shown import shown


class ConfigurationError(SimError):
    """A scheduler's configuration cannot be used: `path`, `value` and what is wrong with it."""

    def __init__(self, path: str, value: Any, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.value = value
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.value, self.problem)


class Fields:
    """A mapping of a configuration and where it stands. Every method raises ConfigurationError."""

    def __init__(self, value: Any, path: str = "", *, any_case: bool = False) -> None:
        if not isinstance(value, Mapping):
            raise ConfigurationError(
                path, value, say("expected a mapping, found {found}", found=shown(value))
            )
        self.path = path
        self.raw = cast("Mapping[str, Any]", value)
        self._any_case = any_case

    def at(self, name: str) -> str:
        """The path of field *name*."""
        return f"{self.path}.{name}" if self.path else name

    def only(self, *known: str) -> Fields:
        """Refuse fields that are not *known*."""
        folded = {name.lower() for name in known}
        for name in self.raw:
            if name not in known and not (self._any_case and name.lower() in folded):
                text = ", ".join(known)
                raise self.error(name, f'unknown field "{name}"; known are {text}')
        return self

    def error(self, name: str, problem: str) -> ConfigurationError:
        """What is wrong with field *name*, to be raised."""
        return ConfigurationError(self.at(name), self.get(name), problem)

    def get(self, name: str) -> Any:
        """The value of field *name*; None when it is absent."""
        return in_any_case(self.raw, name) if self._any_case else self.raw.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, f"expected a text, found {shown(value)}")
        return value

    def object_name(self, name: str) -> str:
        """A text no longer than the name of an object may be."""
        value = self.text(name)
        fault = text_fault(value, LONGEST_OBJECT_NAME)
        if fault is not None:
            raise self.error(name, fault)
        return value

    def one_of(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        """One of the *allowed* texts."""
        value = self.text(name, default)
        if value not in allowed:
            raise self.error(name, f"{shown(value)} is not one of {', '.join(allowed)}")
        return value

    def boolean(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(name, f"expected true or false, found {shown(value)}")
        return value

    def integer(
        self, name: str, default: int, *, low: int = -(1 << 63), high: int = (1 << 63) - 1
    ) -> int:
        """An integer from *low* to *high*."""
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"expected an integer, found {shown(value)}")
        if not low <= value <= high:
            span = f"at least {low}" if high >= 1 << 31 else f"from {low} to {high}"
            raise self.error(name, f"{value} is out of range; it must be {span}")
        return value

    def number(self, name: str) -> float | None:
        """A number, whole or not; None when it is absent."""
        value = self.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise self.error(name, f"expected a number, found {shown(value)}")
        return value

    def duration(self, name: str, default: int) -> int:
        """A metav1.Duration ("15s") as nanoseconds."""
        value = self.get(name)
        if value is None:
            return default
        try:
            return parse_duration(value)
        except ValueError as error:
            raise self.error(name, said_by(error)) from error

    def mapping(self, name: str) -> Fields | None:
        """A mapping; None when it is absent."""
        value = self.get(name)
        return None if value is None else Fields(value, self.at(name), any_case=self._any_case)

    def items(self, name: str) -> list[Fields]:
        """A list of mappings; empty when it is absent."""
        return [
            Fields(item, f"{self.at(name)}[{place}]", any_case=self._any_case)
            for place, item in enumerate(self.values(name))
        ]

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty when it is absent."""
        for place, item in enumerate(self.values(name)):
            if not isinstance(item, str):
                path = f"{self.at(name)}[{place}]"
                raise ConfigurationError(
                    path, item, say("expected a text, found {found}", found=shown(item))
                )
        return tuple(self.values(name))

    def values(self, name: str) -> list[Any]:
        """A list of anything; empty when it is absent."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(name, f"expected a list, found {shown(value)}")
        return cast("list[Any]", value)
