"""`{% importmap %}`: tells the browser where the imported packages are."""

import json

from django import template
from django.templatetags.static import static
from django.utils.safestring import SafeString, mark_safe

from kscope.static_finder import import_map_names

register = template.Library()


@register.simple_tag
def importmap() -> SafeString:
    """The import map as a script element; it must stand before the first module script."""
    imports = {name: static(file) for name, file in import_map_names().items()}
    # "<" cannot end the script element when it is escaped; names come from our own map anyway.
    text = json.dumps({"imports": imports}, indent=1).replace("<", "\\u003c")
    return mark_safe(f'<script type="importmap">{text}</script>')
