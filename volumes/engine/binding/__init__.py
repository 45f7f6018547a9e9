"""The scheduler's volume binder and its cache of assumed claims and volumes.

Upstream: pkg/scheduler/framework/plugins/volumebinding/{binder,assume_cache}.go.
"""
