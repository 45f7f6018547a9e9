"""What the form for uploads knows of their limit."""

from typing import Any

from django import template

from kscope.accounts.access import visitor_of
from kscope.accounts.limits import upload_limit

register = template.Library()


@register.simple_tag(takes_context=True)
def upload_most(context: Any) -> int:
    """`{% upload_most %}`: how many bytes the files of an upload of the visitor may have together."""
    return upload_limit(visitor_of(context["request"]))
