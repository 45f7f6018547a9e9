"""Names in the documents that belong to others, and which our code therefore need not have."""

from typing import Final

# Entry point groups look like modules.
GROUPS: Final = frozenset({"kscope.plugins"})

# Pages whose names are all upstream's.
PAGES: Final = frozenset({"docs/conformance-e2e.md"})

# Options of other programs.
OPTIONS: Final = frozenset[str]()

# Kubernetes' own parts that are not modelled, units, formats, and libraries that were not chosen.
NAMES: Final = frozenset(
    {
        "BalanceAttachedNodeVolumes",
        "BindQueue",
        "BindTimeoutSeconds",
        "ClearBindings",
        "CommonMark",
        "DeletePodBindings",
        "DisablePreemption",
        "GiB",
        "GitHub",
        "GraphQL",
        "HardPodAffinitySymmetricWeight",
        "HasAddedPods",
        "InvalidatePredicates",
        "LaTeX",
        "LimitRanger",
        "MakeDefaultErrorFunc",
        "MarkRemountRequired",
        "MkDocs",
        "MyST",
        "NodeInfoMap",
        "OpenID",
        "OpenMetrics",
        "OutOfcpu",
        "ParallelizeUntil",
        "PercentageOfNodesToScore",
        "PodsToActivate",
        "ProcessPool",
        "ReprocessPod",
        "SchedulerName",
        "SchedulerPopFromBackoffQ",
        "SchedulerQueueingHints",
        "UpdateBindings",
        "VolumeScheduling",
        "WaitForCacheSync",
        "WebAssembly",
        "WebRTC",
        "to_process",
    }
)
