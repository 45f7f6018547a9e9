"""How REST answers become JSON."""

from typing import Any

from rest_framework.renderers import JSONRenderer

from kscope.runs.languages.reader import said


class SaidRenderer(JSONRenderer):
    """JSON, with the sentences of the engine in the reader's language."""

    def render(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        """See JSONRenderer."""
        return super().render(said(data), *args, **kwargs)
