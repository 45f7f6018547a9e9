"""Names in the documents that belong to others, and which our code therefore need not have."""

from typing import Final

# Entry point groups look like modules.
GROUPS: Final = frozenset({"kscope.plugins"})

# Options of other programs.
OPTIONS: Final = frozenset[str]()

# Kubernetes' own parts that are not modelled, units, formats, and libraries that were not chosen.
NAMES: Final = frozenset(
    {
        "BalanceAttachedNodeVolumes",
        "BindQueue",
        "GiB",
        "GraphQL",
        "LaTeX",
        "LimitRanger",
        "OpenID",
        "OpenMetrics",
        "OutOfcpu",
        "PodsToActivate",
        "ProcessPool",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
        "WebAssembly",
        "WebRTC",
        "to_process",
    }
)
