"""Tables: what `kubectl get` prints, made by the server with the columns of each kind.

`columns` holds the parts of a column, `pods`, `workloads`, `storage`, `network`, `cluster` and `events` the
columns of their kinds, `printers` all of them by kind; `table` makes the rows of an answer.
Upstream: pkg/printers/internalversion/printers.go, pkg/printers/tablegenerator.go.
"""

from kube.tables.durations import human_duration
from kube.tables.table import Rows, partial

__all__ = ["Rows", "human_duration", "partial"]
