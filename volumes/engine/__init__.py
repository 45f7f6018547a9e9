"""The life of a volume: matching, binding, provisioning, reclaim, attach, mount. Pure."""
