"""`{% recipe %}` and `{% simple_recipe %}`: the commands that print a cluster for kscope."""

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from kscope import recipe

register = template.Library()


@register.simple_tag(name="recipe")
def recipe_shown() -> SafeString:
    """The command for a Unix shell."""
    return _with_breaks(recipe.recipe())


@register.simple_tag(name="simple_recipe")
def simple_recipe_shown() -> SafeString:
    """The command for any shell."""
    return _with_breaks(recipe.simple_recipe())


def _with_breaks(command: str) -> SafeString:
    """*command* as HTML that may break between the kinds which it lists, and not within them."""
    text = escape(command)
    for sign in (",", "|"):
        text = text.replace(sign, f"{sign}<wbr>")
    return mark_safe(text)
