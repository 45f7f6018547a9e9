"""Tables: what `kubectl get` prints, made by the server with the columns of each kind.

Upstream: pkg/printers/internalversion/printers.go, pkg/printers/tablegenerator.go.
"""

from kube.tables.durations import human_duration
from kube.tables.table import Rows, partial

__all__ = ["Rows", "human_duration", "partial"]
