"""Devices for the claims of pods.

`pod_reader` prepares each cycle, `prepared` is what it knows, and `kept_searches` keeps what was found
from pod to pod. `allocation_results` writes what was chosen into the status of a claim. How devices are
found on one node is in `engine.plugins.dynamic_resources.allocation`.

Upstream: pkg/scheduler/framework/plugins/dynamicresources.
"""
