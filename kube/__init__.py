"""A run as a Kubernetes API server: kubectl, controllers and schedulers speak to it.

The modules of this folder are plain Python: what is served and how it is called (`resources`,
`discovery`, `openapi`), what is asked for (`selecting`, `patching`, `strict`), and how it is answered
(`tables`, `defaults`, `status`). `server` stands on them, and on the runs of the database.
"""
