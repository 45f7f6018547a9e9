"""The parts of decisions mode, which `decide` puts together.

`stored_objects` makes of the given objects what the API server would have stored;
`decided_cluster` is the cluster that the decisions change, with the resource claims in
`claim_work`; `attempt_format` writes an attempt as docs/decisions.md describes it.
"""
