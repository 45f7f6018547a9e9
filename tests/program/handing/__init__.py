"""`kscope import` and `kscope export`."""
