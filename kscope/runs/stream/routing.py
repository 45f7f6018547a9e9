"""WebSocket addresses."""

from typing import Any

from django.urls import path

from kscope.runs.stream.consumers import RunConsumer

# The type of `path` accepts only HTTP views, so this is Any.
_consumer: Any = RunConsumer.as_asgi()
websocket_urlpatterns = [path("ws/runs/<int:run_id>/", _consumer)]
