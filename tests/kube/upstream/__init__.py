"""Upstream's own end-to-end suite, `e2e.test`, on runs.

`$KSCOPE_E2E_TEST` is the path of its binary, of a version 1.36; it is no part of this project, and
without it nothing here is tried. `python -m tests.kube.upstream` tries the conformance specs of the
sigs that a run serves, and writes docs/conformance-e2e.md.

Where Go is 1.25 or newer it is built with `GOEXPERIMENT=nojsonv2`: the JSON of these writes the schemas
that specs compare with OpenAPI documents in another form.
"""
