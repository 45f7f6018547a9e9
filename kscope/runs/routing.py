"""WebSocket addresses."""

from django.urls import path

from kscope.runs.consumers import RunConsumer

websocket_urlpatterns = [path("ws/runs/<int:run_id>/", RunConsumer.as_asgi())]
