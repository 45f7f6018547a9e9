"""WebSocket addresses."""

from typing import Any

from django.urls import path

from kscope.runs.stream.consumers import RunConsumer

# The types of `path` know views of requests only.
_consumer: Any = RunConsumer.as_asgi()
websocket_urlpatterns = [path("ws/runs/<int:run_id>/", _consumer)]
