"""Each Kubernetes version that can be simulated, as one literal value.

`v1_34` and its siblings spell out every rule of their version; `kubernetes_version` is what they
are made of, `registry` lists them, the newest first. The classes of rules stand beside the code
that follows them (queue, cache, preemption, controllers), those of the cycles in `cycle_rules`,
because the code of the cycles is a layer above. A rule is a field with a sentence beneath it;
`differences` makes the table of all of them, which docs/versions.md and the page /versions/ show.

To add a version, copy the nearest file, change what differs, and name it in `registry`.
"""
