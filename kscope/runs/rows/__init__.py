"""Windows of the rows of long lists: searched, filtered and sorted as a run was after an event.

    events ──▶ Sheet: the few attributes that lists need, after one event, to and fro
                 │ what changed
                 ▼
               Table of a kind: a Row for each object, with its state and what it is sorted by
                 │ Wanted
                 ▼
               Window: some rows, how many are found, how many there are in each state

Pages draw the rows from their own model; docs/browser-model.md says how the two agree.
"""
