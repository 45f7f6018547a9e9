"""Columns of the view of events whose conditions also say which rows of the record can match.

The view opens a row of the record to look at its events. A condition on an event tells PostgreSQL
nothing about the row that the event is in, so each of these columns adds what follows from it:

    seq = 5000       the row ends between 5000 and 6023, and begins at 5000 or before
    at < t           the row begins before t
    kind = 'Bound'   the row has the mark of "Bound"

What is added follows from the condition, so that it holds in any combination, negations as well.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import orjson
from django.db import connections, models
from django.db.models.expressions import Col
from django.db.models.fields.json import HasKey
from django.db.models.lookups import (
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Range,
)
from django.db.models.sql.where import AND

from kscope.runs.record.chunks import BLOCK, mark_of
from kscope.runs.record.parts import END, Part, parts_of

# What follows from a condition with these values: SQL with {row} for the row's alias, and parameters.
Follows = Callable[..., tuple[str, list[Any]]]


def _implied(base: type[Any], follows: Follows) -> type[Any]:
    """The lookup *base* with what follows from it, where it compares a column with values."""

    class Implied(base):  # type: ignore[misc, valid-type]
        def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Sequence[Any]]:
            text, values = super().as_sql(compiler, connection)
            given = self.rhs if isinstance(self.rhs, (list, tuple, set)) else [self.rhs]
            is_plain = all(isinstance(each, (int, str)) for each in given)
            if not (isinstance(self.lhs, Col) and given and is_plain):
                return text, values
            row = compiler.quote_name_unless_alias(self.lhs.alias)
            more, added = follows(*sorted(given) if base is In else given)
            return f"({text} AND {more.format(row=row)})", [*values, *added]

    Implied.__name__ = f"{base.__name__}OfRecord"
    return Implied


def _seqs_in(*seqs: int) -> tuple[str, list[Any]]:
    has_one = "EXISTS (SELECT FROM unnest(%s::bigint[]) AS each (seq)"
    return (
        "{row}.last_seq >= %s AND {row}.last_seq < %s"
        f" AND {has_one} WHERE each.seq BETWEEN {{row}}.first_seq AND {{row}}.last_seq)",
        [seqs[0], seqs[-1] + BLOCK, [*seqs]],
    )


def _marked(*words: str) -> tuple[str, list[Any]]:
    return "{row}.marks && %s::integer[]", [[mark_of(word) for word in words]]


class _RecordField(models.Field):
    """To migrations it is the field of Django that it stands for."""

    plain: ClassVar[str]

    def deconstruct(self) -> Any:
        """See Field."""
        name, _, args, kwargs = super().deconstruct()
        return name, f"django.db.models.{self.plain}", args, kwargs


class SeqField(_RecordField, models.BigIntegerField):
    """The number of an event."""

    plain = "BigIntegerField"


class MomentField(_RecordField, models.BigIntegerField):
    """The virtual time of an event, which never decreases with its number."""

    plain = "BigIntegerField"


class MarkedField(_RecordField, models.TextField):
    """A word by which events are looked for: a row has the marks of all of its words."""

    plain = "TextField"


class ChangesField(_RecordField, models.JSONField):
    """What an event changed of the view state, by entity."""

    plain = "JSONField"


@ChangesField.register_lookup
class _Changes(HasKey):
    """Only JSON in whose text the key stands is read."""

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, Sequence[Any]]:
        text, values = super().as_postgresql(compiler, connection)
        if not isinstance(self.lhs, Col):
            return text, values
        row = compiler.quote_name_unless_alias(self.lhs.alias)
        key = f"{orjson.dumps(self.rhs).decode()}:"
        return f"(position(%s in {row}.changes_text) > 0 AND {text})", [key, *values]


_LOOKUPS: dict[type[Any], dict[type[Any], Follows]] = {
    SeqField: {
        Exact: lambda seq: (
            "{row}.last_seq >= %s AND {row}.last_seq < %s AND {row}.first_seq <= %s",
            [seq, seq + BLOCK, seq],
        ),
        GreaterThan: lambda seq: ("{row}.last_seq > %s", [seq]),
        GreaterThanOrEqual: lambda seq: ("{row}.last_seq >= %s", [seq]),
        LessThan: lambda seq: (
            "{row}.last_seq < %s AND {row}.first_seq < %s",
            [seq + BLOCK, seq],
        ),
        LessThanOrEqual: lambda seq: (
            "{row}.last_seq < %s AND {row}.first_seq <= %s",
            [seq + BLOCK, seq],
        ),
        Range: lambda first, last: (
            "{row}.last_seq >= %s AND {row}.last_seq < %s AND {row}.first_seq <= %s",
            [first, last + BLOCK, last],
        ),
        In: _seqs_in,
    },
    MomentField: {
        Exact: lambda at: ("%s BETWEEN {row}.first_at AND {row}.last_at", [at]),
        GreaterThan: lambda at: ("{row}.last_at > %s", [at]),
        GreaterThanOrEqual: lambda at: ("{row}.last_at >= %s", [at]),
        LessThan: lambda at: ("{row}.first_at < %s", [at]),
        LessThanOrEqual: lambda at: ("{row}.first_at <= %s", [at]),
        Range: lambda first, last: (
            "{row}.last_at >= %s AND {row}.first_at <= %s",
            [first, last],
        ),
    },
    MarkedField: {Exact: _marked, In: _marked},
}

for _field, _lookups in _LOOKUPS.items():
    for _base, _follows in _lookups.items():
        _field.register_lookup(_implied(_base, _follows))


class EventQuerySet(models.QuerySet):
    """Events of a run in the order of seq are read part by part, and there row by row.

    So the first few of them open few rows. See kscope/runs/record/parts.py.
    """

    def in_parts(self) -> "list[EventQuerySet] | None":
        """The same for each part of the run's history, in order and without limits.

        None where they are not of one run, or in another order.
        """
        run_id, way = self._run_wanted(), self._way()
        if run_id is None or way is None:
            return None
        parts = parts_of(run_id)
        return [self._of_part(part, way) for part in (parts if way == "" else parts[::-1])]

    def _run_wanted(self) -> int | None:
        query = self.query
        if query.combinator or query.distinct or query.where.negated or query.group_by is not None:
            return None
        found = [each.rhs for each in _of_runs(query.where) if isinstance(each.rhs, int)]
        return found[0] if found and query.where.connector == AND else None

    def _way(self) -> str | None:
        """ "" for the order of seq, "-" for the other way round; None for any other order."""
        query = self.query
        names = query.order_by or (self.model._meta.ordering if query.default_ordering else ())
        told = [each for each in names if each not in _OF_ONE_RUN]
        if query.extra_order_by or told not in (["seq"], ["-seq"]):
            return None
        return "" if (told == ["seq"]) == query.standard_ordering else "-"

    def _of_part(self, part: Part, way: str) -> "EventQuerySet":
        found = self.all()
        query = found.query
        query.clear_limits()
        query.clear_ordering(force=True)
        query.standard_ordering = True
        query.add_ordering(f"{way}last_seq", f"{way}seq")
        query.add_q(models.Q(source=part.source))
        if part.upto != END:
            query.add_q(models.Q(seq__gt=part.after, seq__lte=part.upto))
        return found

    def _fetch_all(self) -> None:
        if self._result_cache is None and (parts := self.in_parts()) is not None:
            self._result_cache = self._read(parts)
        super()._fetch_all()

    def _read(self, parts: "list[EventQuerySet]") -> list[Any]:
        """Of each part as many as are still missing."""
        low, high = self.query.low_mark, self.query.high_mark
        found: list[Any] = []
        for part in parts:
            if high is not None and len(found) >= high:
                break
            if high is not None:
                part.query.set_limits(0, high - len(found))
            models.QuerySet._fetch_all(part)
            found += part._result_cache or ()
        return found[low:]

    def iterator(self, chunk_size: int | None = None) -> Iterator[Any]:
        """See QuerySet."""
        parts = None if self.query.is_sliced else self.in_parts()
        if parts is None:
            yield from super().iterator(chunk_size)
            return
        for part in parts:
            yield from super(EventQuerySet, part).iterator(chunk_size)

    def explain(self, *, format: str | None = None, **options: Any) -> str:
        """See QuerySet. Of several parts it explains the first."""
        first, *_ = self.in_parts() or (self,)
        if first is not self:
            first.query.set_limits(self.query.low_mark, self.query.high_mark)
        return models.QuerySet.explain(first, format=format, **options)

    def count(self) -> int:
        """See QuerySet. All events, or all of a run, are counted without opening a row."""
        where = self.query.where
        of_runs = _of_runs(where)
        is_plain = where.connector == AND and not (
            where.negated or self.query.is_sliced or self.query.distinct
        )
        if self._result_cache is not None or len(of_runs) < len(where.children) or not is_plain:
            return super().count()
        runs = [each.rhs for each in of_runs]
        wanted = " AND ".join(["part.run_id = %s"] * len(runs)) or "true"
        with connections[self.db].cursor() as cursor:
            cursor.execute(f"{_COUNT} WHERE {wanted}", runs)
            return int(cursor.fetchone()[0])


_OF_ONE_RUN = ("run", "-run", "run_id", "-run_id", "pk", "-pk")
_COUNT = (
    "SELECT coalesce(sum(least(last_seq, upto) - greatest(first_seq - 1, after)), 0)"
    " FROM runs_runpart AS part JOIN runs_eventchunk AS chunk"
    " ON chunk.run_id = part.source AND last_seq > after AND first_seq <= upto"
)


def _of_runs(where: Any) -> list[Any]:
    """Those conditions that name the run."""
    return [
        each
        for each in where.children
        if isinstance(each, Exact) and isinstance(each.lhs, Col) and each.lhs.target.name == "run"
    ]
