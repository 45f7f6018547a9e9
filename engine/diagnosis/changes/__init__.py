"""Single changes that may give a pod a node: one module for each thing that can be changed.

Each yields candidates from the smallest on, and says nothing of whether they help: that is for
trials. `candidates.py` above has what they are made of.
"""
