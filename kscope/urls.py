"""Addresses: pages, `/api/v1/`, `/admin/`, and those of operations."""

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView

import kscope.accounts.schema  # noqa: F401  # the schema names our ways to authenticate
from kscope.api_docs import api_docs
from kscope.concepts.views import concept, concepts
from kscope.failures.unavailable import handle_server_error
from kscope.glossary import explanations, glossary
from kscope.runs.web.contract.problems import nothing_here
from kscope.words.catalogue import words

handler500 = handle_server_error

handler400 = "kscope.runs.web.body_limit.bad_request"

FAVICON = RedirectView.as_view(url=static("favicon.svg"), http_method_names=["get", "head"])

urlpatterns = [
    # Pages without a head of their own, such as a manifest, make browsers ask for this one.
    path("favicon.ico", FAVICON),
    path("admin/", admin.site.urls),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("api/docs/", api_docs, name="api-docs"),
    path("glossary/", glossary, name="glossary"),
    path("glossary/explanations/", explanations, name="glossary-explanations"),
    path("words/<str:language>/<str:digest>.js", words, name="words"),
    path("concepts/", concepts, name="concepts"),
    path("concepts/<slug:anchor>/", concept, name="concept"),
    path("", include("kscope.operations.urls")),
    path("api/v1/", include("kscope.runs.web.api_urls")),
    path("api/v1/", include("volumes.api_urls")),
    path("api/v1/", include("scheduling.api_urls")),
    path("", include("kscope.accounts.web.urls")),
    path("", include("kscope.runs.lessons.urls")),
    path("", include("kscope.runs.stories.urls")),
    path("", include("kscope.runs.web.urls")),
    path("", include("scheduling.urls")),
    path("", include("kube.urls")),
    # The last one: whatever no other address is.
    path("api/v1/<path:rest>", nothing_here, name="api-nothing"),
]
