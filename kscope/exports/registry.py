"""The formats: their names, endings, media types, and who writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from kscope.exports.encoder import Encoder, ExportError, Heading

# What a format is made of: the events, the objects at an instant, the whole run, or what its pages show.
Of = Literal["events", "objects", "run", "page"]


def _always() -> bool:
    return True


def _has_page() -> bool:
    from kscope.exports.page.document import is_built

    return is_built()


def _nothing(heading: Heading) -> Encoder:
    raise ExportError("this format is not made of events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format; `encoder` makes what writes it, which is loaded only then.

    `is_packed` says that what the encoder writes is packed with gzip, `of_pod` that it is about one
    pod.
    """

    name: str
    ending: str
    media_type: str
    of: Of = "events"
    encoder: Callable[[Heading], Encoder] = _nothing
    # A package that it needs, which is an extra of kscope.
    needs: str = ""
    # Whether what is built with the program is there.
    is_here: Callable[[], bool] = _always
    is_text: bool = True
    is_packed: bool = False
    of_pod: bool = False


def _ndjson(heading: Heading) -> Encoder:
    from kscope.exports.lines import Ndjson

    return Ndjson(heading)


def _csv(heading: Heading) -> Encoder:
    from kscope.exports.lines import Csv

    return Csv(heading)


def _parquet(heading: Heading) -> Encoder:
    from kscope.exports.parquet import Parquet

    return Parquet(heading)


def _perfetto(heading: Heading) -> Encoder:
    from kscope.exports.perfetto.trace import Perfetto

    return Perfetto(heading)


def _otlp(heading: Heading) -> Encoder:
    from kscope.exports.spans import Otlp

    return Otlp(heading)


def _openmetrics(heading: Heading) -> Encoder:
    from kscope.exports.metrics.exposition import OpenMetrics

    return OpenMetrics(heading)


def _mermaid(heading: Heading) -> Encoder:
    from kscope.exports.mermaid import Mermaid

    return Mermaid(heading)


def _events(heading: Heading) -> Encoder:
    from kscope.exports.event_list import EventList

    return EventList(heading)


_JSON_LINES: Final = "application/x-ndjson"
_FORMATS: Final = (
    Format(
        name="kscope",
        ending=".kscope",
        media_type="application/vnd.kscope.run+zip",
        of="run",
        is_text=False,
    ),
    Format(name="ndjson", ending=".ndjson", media_type=_JSON_LINES, encoder=_ndjson),
    Format(name="csv", ending=".csv", media_type="text/csv; charset=utf-8", encoder=_csv),
    Format(
        name="parquet",
        ending=".parquet",
        media_type="application/vnd.apache.parquet",
        encoder=_parquet,
        needs="pyarrow",
        is_text=False,
    ),
    Format(
        name="perfetto",
        ending=".pftrace",
        media_type="application/x-protobuf",
        encoder=_perfetto,
        is_text=False,
    ),
    Format(name="otlp", ending=".otlp.json", media_type=_JSON_LINES, encoder=_otlp),
    Format(
        name="openmetrics",
        ending=".prom",
        media_type="application/openmetrics-text; version=1.0.0; charset=utf-8",
        encoder=_openmetrics,
    ),
    Format(
        name="mermaid",
        ending=".mmd",
        media_type="text/plain; charset=utf-8",
        encoder=_mermaid,
        of_pod=True,
    ),
    Format(name="yaml", ending=".yaml", media_type="application/yaml", of="objects"),
    Format(
        name="html",
        ending=".html",
        media_type="text/html; charset=utf-8",
        of="page",
        is_here=_has_page,
        is_text=False,
    ),
    Format(
        name="events",
        ending=".json.gz",
        media_type="application/gzip",
        encoder=_events,
        is_text=False,
        is_packed=True,
    ),
)
FORMATS: Final = {each.name: each for each in _FORMATS}


def formats_here() -> list[str]:
    """The names of those for which everything is installed here."""
    return [
        name
        for name, each in FORMATS.items()
        if each.is_here() and (not each.needs or find_spec(each.needs))
    ]


def format_of_path(path: str) -> Format | None:
    """The format that the ending of a file picks; the longest ending wins."""
    found = [each for each in _FORMATS if path.endswith(each.ending)]
    return max(found, key=lambda each: len(each.ending), default=None)
