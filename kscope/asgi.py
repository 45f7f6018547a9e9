"""The ASGI application: HTTP by Django, WebSockets by Channels."""

import gc
import logging
import os
import resource
import sys

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
# The thread that serves all sockets gets its turn five times as soon as by default, when others compute.
sys.setswitchinterval(0.001)
# A socket is an open file, and many systems let a process have 1,024 unless it asks for more.
_, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
http = get_asgi_application()
# The routes reach models, which exist only once Django is set up.
from kscope import database_format  # noqa: E402
from kscope.accounts.sockets import own_origin_only  # noqa: E402
from kscope.failures.clean_ends import clean_ends  # noqa: E402
from kscope.failures.postgresql.base import pooled  # noqa: E402
from kscope.operations import presence  # noqa: E402
from kscope.operations.headers import Application, answer_headers  # noqa: E402
from kscope.runs.capacity.requests_at_once import admission  # noqa: E402
from kscope.runs.stream.routing import websocket_urlpatterns  # noqa: E402
from kscope.runs.web.bodies import bodies  # noqa: E402
from kscope.runs.web.packing import packed  # noqa: E402
from kscope.static_files.files import static_files  # noqa: E402
from kube.server.application import Server, kubernetes_api  # noqa: E402

if settings.DATABASE_POOL:
    settings.DATABASES["default"] |= pooled(settings.DATABASES["default"], settings.DATABASE_POOL)
database_format.check_start()
# Pages, the API and streams then answer with the reason, which says more than a closed port.
database_format.watch(logging.getLogger(__name__).critical)
presence.begin("web")


def serving(kubernetes: Server) -> Application:
    """The whole application, with *kubernetes* as the Kubernetes API."""
    routed = ProtocolTypeRouter(
        {"http": packed(http), "websocket": own_origin_only(URLRouter(websocket_urlpatterns))}
    )
    admitted = admission(kubernetes_api(routed, kubernetes))
    return answer_headers(clean_ends(static_files(bodies(admitted))))


application = serving(Server())
# The modules loaded by now stay. The collector spent a quarter of the time in them while the objects
# of a long list were made. Processes that a loader forks begin with this.
gc.freeze()
