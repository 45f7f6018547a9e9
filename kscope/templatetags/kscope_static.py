"""`{% importmap %}` tells the browser where imported packages are, `{% modulepreload FILE %}` what a
module imports, so that it fetches all of it at once instead of finding out step by step.
"""

import json
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.safestring import SafeString, mark_safe

from kscope.static_files.finder import PREFIX, import_map_names, imported_names
from kscope.static_files.modules import TYPEFACES
from kscope.words.catalogue import MODULE as WORDS
from kscope.words.catalogue import words_address

register = template.Library()


@register.simple_tag(takes_context=True)
def importmap(context: dict[str, Any]) -> SafeString:
    """The import map as a script element; it must stand before the first module script.

    It is the one inline script, and carries the nonce of the content security policy.
    """
    imports = {name: static(file) for name, file in import_map_names().items()}
    imports[WORDS] = words_address()
    # "<" cannot end the script element when it is escaped; names come from our own map anyway.
    text = json.dumps({"imports": imports}, indent=1).replace("<", "\\u003c")
    nonce = context.get("CSP_NONCE", "")
    return mark_safe(f'<script type="importmap" nonce="{nonce}">{text}</script>')


@register.simple_tag
def modulepreload(name: str) -> SafeString:
    """A link for every module that the served file *name* leads to; stands after the import map."""
    addresses = [*(static(each) for each in imported_names(name)), words_address()]
    links = [f'<link rel="modulepreload" href="{each}">' for each in addresses]
    return mark_safe("\n".join(links))


@register.simple_tag
def preload_typefaces() -> SafeString:
    """Links by which the typefaces arrive with the style sheets, so that text is seldom redrawn."""
    # Browsers fetch typefaces as other origins' files, and use what was preloaded only if it was, too.
    link = '<link rel="preload" as="font" type="font/woff2" crossorigin href="{}">'
    return mark_safe("\n".join(link.format(static(PREFIX + file)) for file in TYPEFACES))
