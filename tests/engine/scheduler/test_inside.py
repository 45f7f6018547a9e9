"""The inside of a cycle, and of the caches, on small clusters."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.kernel.trace import Trace
from engine.kernel.units import SECOND
from engine.scheduler.cycle.inside.answer import Cycle, cycle_told
from engine.scheduler.queue.telling import Popped
from tests.builders.clusters import scene
