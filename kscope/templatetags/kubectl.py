"""`{% recipe %}` and `{% simple_recipe %}`: the commands that print a cluster for kscope."""

from django import template

from kscope import recipe

register = template.Library()
register.simple_tag(recipe.recipe)
register.simple_tag(recipe.simple_recipe)
