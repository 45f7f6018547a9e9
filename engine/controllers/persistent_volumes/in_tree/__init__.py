"""The in-tree volume plugins of the PV controller, and the registry that finds the right one.

`plugin.py` says what a plugin does. host_path recycles volumes by a pod (recycler); cloud_disk stands
for the plugins of the clouds, which CSI drivers have replaced by v1.34.
"""
