"""Exports of runs: written by an engine process into a temporary file, which is then sent.

    view ── Export ──▶ ExportAnswer ── Question ──▶ an engine process: `export_made`
                             ◀── the file is whole ──────────┘

Nothing is sent before the export is whole: what cannot be made is refused in words. What is sent waits on
the disk, so a slow reader holds neither a process nor memory.
"""
