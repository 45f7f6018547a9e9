"""The ASGI application: HTTP by Django, WebSockets by Channels."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
http = get_asgi_application()

# The routes reach models, which exist only once Django is set up.
from kscope.operations import presence  # noqa: E402
from kscope.runs.body_limit import body_limit  # noqa: E402
from kscope.runs.routing import websocket_urlpatterns  # noqa: E402

presence.begin("web")

application = ProtocolTypeRouter(
    {
        "http": body_limit(http),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
        ),
    }
)
