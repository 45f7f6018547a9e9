"""Addresses: pages, `/api/`, `/admin/`, `/healthz`."""

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
    path("api/", include("kscope.runs.api_urls")),
    path("api/", include("scheduling.api_urls")),
    path("", include("kscope.runs.urls")),
]
