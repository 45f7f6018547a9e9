"""What a run is written as for other programs: one registry of formats, for every door.

    events ──▶ Encoder (ndjson, csv, parquet, perfetto, …) ──▶ bytes, piece by piece
    objects ─▶ manifests (yaml)

No encoder keeps a history: what it keeps grows with the cluster, not with the run. docs/exports.md has
the formats. Neither Django nor a large library is loaded here before a format needs it.
"""
