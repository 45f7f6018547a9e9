"""WebSocket addresses."""

from django.urls import path

from kscope.runs.stream.consumers import RunConsumer

websocket_urlpatterns = [path("ws/runs/<int:run_id>/", RunConsumer.as_asgi())]
