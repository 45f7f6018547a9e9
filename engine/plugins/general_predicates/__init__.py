"""Resources, host name, host ports and node selector, in one predicate or each on its own."""
