"""The scheduler, the workload controllers and the cluster around them.

    diagnosis     why a pod is pending, and what would fix it
    cluster       everything put together: a scenario becomes a running cluster
    cycle         what a scheduler does with one pod
    configuration from a file to profiles and plugins
    versions      every rule of each Kubernetes version, as one value
    queue, preemption, plugins
    dynamic_resources  which devices a pod gets
    columns       kept answers of plugins, for speed only
    framework     the plugin interface and its runtime
    nodes         the scheduler's cache and its table of nodes
    workloads     the controllers that make and delete pods
    api_server    defaults, admission, quotas, evictions
    pods          what a pod asks for

A room imports only rooms below it; import-linter checks that. Plain typed Python.
"""
