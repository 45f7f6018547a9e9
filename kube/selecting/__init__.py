"""Which objects a request means: a labelSelector and a fieldSelector, as an API server reads them.

`label_parser` reads the first, with the rules of `label_names`; `fields` reads the second, with the
fields that each kind offers; `selection` holds both and says which objects match.
"""

from kube.selecting.fields import fields_selected
from kube.selecting.label_parser import labels_selected
from kube.selecting.selection import Selection

__all__ = ["Selection", "fields_selected", "labels_selected"]
