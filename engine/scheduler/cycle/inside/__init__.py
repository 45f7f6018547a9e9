"""One scheduling cycle as its phases, made of what the deciding code told a trace.

`answer` puts the steps in their places and computes nothing of its own; `upstream` says which
function of which version does each. docs/inside.md describes the answer.
"""
