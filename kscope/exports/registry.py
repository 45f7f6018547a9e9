"""The formats: their names, endings, media types, and who writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Literal

from kscope.exports.encoder import Encoder, Heading

# What a format is made of: the events, the objects at an instant, or the whole run.
Of = Literal["events", "objects", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format; `writer` is "module:class" of its encoder, loaded when it is used.

    `is_packed` says that what the encoder writes is packed with gzip, `of_pod` that it is about one
    pod.
    """

    name: str
    ending: str
    media_type: str
    of: Of = "events"
    writer: str = ""
    # A package that it needs, which is an extra of kscope.
    needs: str = ""
    is_text: bool = True
    is_packed: bool = False
    of_pod: bool = False

    def encoder(self, heading: Heading) -> Encoder:
        """What writes a run. Raises ExportError where something for it is missing."""
        module, name = self.writer.split(":")
        make: Callable[[Heading], Encoder] = getattr(
            import_module(f"kscope.exports.{module}"), name
        )
        return make(heading)


_JSON_LINES: Final = "application/x-ndjson"
_FORMATS: Final = (
    Format(
        name="kscope",
        ending=".kscope",
        media_type="application/vnd.kscope.run+zip",
        of="run",
        is_text=False,
    ),
    Format(name="ndjson", ending=".ndjson", media_type=_JSON_LINES, writer="lines:Ndjson"),
    Format(name="csv", ending=".csv", media_type="text/csv; charset=utf-8", writer="lines:Csv"),
    Format(
        name="parquet",
        ending=".parquet",
        media_type="application/vnd.apache.parquet",
        writer="parquet:Parquet",
        needs="pyarrow",
        is_text=False,
    ),
    Format(
        name="perfetto",
        ending=".pftrace",
        media_type="application/x-protobuf",
        writer="perfetto.trace:Perfetto",
        is_text=False,
    ),
    Format(name="otlp", ending=".otlp.json", media_type=_JSON_LINES, writer="spans:Otlp"),
    Format(
        name="openmetrics",
        ending=".prom",
        media_type="application/openmetrics-text; version=1.0.0; charset=utf-8",
        writer="metrics.exposition:OpenMetrics",
    ),
    Format(
        name="mermaid",
        ending=".mmd",
        media_type="text/plain; charset=utf-8",
        writer="mermaid:Mermaid",
        of_pod=True,
    ),
    Format(name="yaml", ending=".yaml", media_type="application/yaml", of="objects"),
    Format(
        name="events",
        ending=".json.gz",
        media_type="application/gzip",
        writer="event_list:EventList",
        is_text=False,
        is_packed=True,
    ),
)
FORMATS: Final = {each.name: each for each in _FORMATS}


def formats_here() -> list[str]:
    """The names of those for which everything is installed here."""
    return [name for name, each in FORMATS.items() if not each.needs or find_spec(each.needs)]


def format_of_path(path: str) -> Format | None:
    """The format that the ending of a file picks; the longest ending wins."""
    found = [each for each in _FORMATS if path.endswith(each.ending)]
    return max(found, key=lambda each: len(each.ending), default=None)
