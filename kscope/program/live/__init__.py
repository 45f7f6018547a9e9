"""A cluster that is read as it is now: by GET and LIST alone, through the official client.

    connection: one context of a kubeconfig, which can only get ◀── reader: lists, page by page
    kinds: what is read, and what its absence means ─▶ plans: of which kinds a question consists
    reading: a plan, carried out ─▶ snapshot: files as `kscope collect` writes them

Only the names of Secrets, ConfigMaps and ServiceAccounts are asked for. Nothing is written, neither
to the cluster nor to the kubeconfig.
"""
