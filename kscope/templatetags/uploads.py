"""What the form for uploads knows: its limit, and the types of nodes that can be added."""

from itertools import groupby
from operator import attrgetter
from typing import Any

from django import template
from django.utils.formats import localize

from engine.input.machines.catalogue import instance_types
from kscope.accounts.access import visitor_of
from kscope.accounts.limits import upload_limit

register = template.Library()


@register.simple_tag(takes_context=True)
def upload_most(context: Any) -> int:
    """`{% upload_most %}`: how many bytes the files of an upload of the visitor may have together."""
    return upload_limit(visitor_of(context["request"]))


@register.simple_tag
def machine_types() -> list[tuple[str, list[dict[str, str]]]]:
    """`{% machine_types as services %}`: by service its instance types, with what is left for pods."""
    known = groupby(instance_types().values(), attrgetter("service"))
    return [
        (
            service,
            [
                {
                    "name": one.name,
                    "cpu": localize(one.allocatable_cpu / 1_000),
                    "memory": localize(round(one.allocatable_memory / 1_024, 1)),
                    "pods": localize(one.pods),
                }
                for one in types
            ],
        )
        for service, types in known
    ]
