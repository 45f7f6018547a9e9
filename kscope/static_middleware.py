"""Static files under ASGI: WhiteNoise, without a thread that waits for the rest of the request."""

from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files, and passes everything else on.

    WhiteNoise's own is synchronous: what follows it would run in a thread, for as long as it takes.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any = None, settings: Any = settings) -> None:
        super().__init__(get_response, settings)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """The response, or a coroutine of it where the rest of the chain is asynchronous."""
        if iscoroutinefunction(self):
            return self._respond(request)
        return self._static(request) or self.get_response(request)

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(self.static_prefix):
            return await self.get_response(request)
        return await sync_to_async(self._static)(request) or await self.get_response(request)

    def _static(self, request: HttpRequest) -> HttpResponse | None:
        """The file as a whole: those of a page are small, and a thread would wait for its reader."""
        path = request.path_info
        found = self.find_file(path) if self.autorefresh else self.files.get(path)
        if found is None:
            return None
        response = self.serve(found, request)
        content = b"".join(response)
        response.close()
        whole = HttpResponse(content, status=response.status_code)
        del whole["content-type"]
        for name, value in response.items():
            whole[name] = value
        return whole
