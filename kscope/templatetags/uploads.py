"""What the form for uploads knows of their limit."""

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def upload_most() -> int:
    """`{% upload_most %}`: how many bytes the files of an upload may have together."""
    return settings.UPLOAD_MAX_BYTES
