"""The search for devices on one node.

`pools` gathers what the node can reach, out of the slices that `published` indexes. `constraints`,
`capacity` and `counters` each hold one rule of the search in `allocator`; `obstacles` says what is
against each device. Upstream: structured/internal/incubating.
"""
