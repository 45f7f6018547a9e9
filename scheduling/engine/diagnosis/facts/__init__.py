"""The facts behind a cause: which field of which object makes it true, and what that comes from.

One module for each subject (volumes, resources, taints, labels, spreading, pod affinity, ports). Each
reads the objects that the scheduler saw and adds to a refusal what its reason leaves out: who blocks,
where a value comes from, which node would do. `explain.explain` finds the module for a plugin.
"""
