"""One scheduling cycle as its phases, made of the steps that the deciding code writes down.

`answer` puts the steps in their places and computes nothing of its own; `upstream` says which
function of which version does each. docs/inside.md describes the answer.
"""
