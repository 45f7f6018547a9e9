"""The page /versions/: what differs between the Kubernetes versions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scheduling.engine.versions.differences import rules
from scheduling.engine.versions.registry import VERSIONS


@require_safe
def versions(request: HttpRequest) -> HttpResponse:
    """Every rule of every version; a script hides what a reader does not ask for."""
    found = rules()
    context = {
        "versions": list(VERSIONS.values()),
        "rules": found,
        "areas": list(dict.fromkeys(rule.area for rule in found)),
        "plugins": sorted({rule.plugin for rule in found if rule.plugin}),
    }
    return render(request, "scheduling/versions.html", context)
