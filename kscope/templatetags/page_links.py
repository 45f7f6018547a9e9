"""`{% page_href "machines" %}`: a link to a page of the run that keeps the event and selection.

static/js/model/run/place.js makes the same addresses; controllers/session/run_page.js updates the
links with them once the page is live.
"""

from typing import Any
from urllib.parse import quote

from django import template
from django.http import HttpRequest, QueryDict
from django.urls import reverse

from kscope.glossary import explanations_href

register = template.Library()
# `{% explanations_href %}`: where the words are that pages explain.
register.simple_tag(explanations_href)

SELECTED = ("pod", "claim", "volume")


@register.simple_tag(takes_context=True)
def page_href(context: dict[str, Any], page: str) -> str:
    """The address of a page of the context's run, at the place that the request names."""
    request: HttpRequest = context["request"]
    kept = kept_place(request.GET, own_pod=context.get("pod_key", ""))
    query = "&".join(f"{name}={quote(value)}" for name, value in kept.items())
    address = reverse(page, args=[context["run"].pk])
    return f"{address}?{query}" if query else address


def kept_place(query: QueryDict, *, own_pod: str = "") -> dict[str, str]:
    """The parameters that pass to the next page; *own_pod* is the pod in this page's path."""
    kept = {name: str(query[name]) for name in SELECTED if query.get(name)}
    if own_pod:
        kept = {"pod": own_pod} | {name: kept[name] for name in kept if name != "pod"}
    if query.get("seq", "").isdecimal():
        kept["seq"] = str(query["seq"])
    return kept
