"""Addresses: pages, `/api/`, `/admin/`, `/healthz`."""

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView


def healthz(request: HttpRequest) -> HttpResponse:
    """Answers as soon as the web process serves; asks no other server."""
    return HttpResponse("ok", content_type="text/plain")


urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="api-schema"), name="api-docs"),
]

for prefix, module in (
    ("api/", "kscope.runs.api_urls"),
    ("api/", "scheduling.api_urls"),
    ("api/", "volumes.api_urls"),
    ("", "kscope.runs.urls"),
    ("", "scheduling.urls"),
    ("", "volumes.urls"),
):
    if (settings.BASE_DIR / (module.replace(".", "/") + ".py")).exists():
        urlpatterns.append(path(prefix, include(module)))
