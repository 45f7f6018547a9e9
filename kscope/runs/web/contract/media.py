"""Answers in other media types than JSON: which one a client takes, by `Accept`."""

from typing import Any

from rest_framework.request import Request

from kscope.runs.languages.renderers import SaidRenderer
from kscope.runs.stream.export import CONTENT_TYPES


class ExportRenderer(SaidRenderer):
    """Stands for a media type in which a view answers by itself; a refusal is JSON all the same."""

    @classmethod
    def of(cls, form: str) -> type[Any]:
        """The renderer of a format: "csv"."""
        media_type = CONTENT_TYPES[form].partition(";")[0]
        return type(f"{cls.__name__}_{form}", (cls,), {"media_type": media_type, "format": form})


def accepting(request: Request) -> str:
    """The format that was agreed upon."""
    renderer: Any = request.accepted_renderer
    return str(renderer.format)
