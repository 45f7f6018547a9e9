"""The view states of a run, read at any of its events and compared by what differs.

Every few thousand events the driver keeps a keyframe: the view state as levels of chunks, of which
it writes what changed (ADR 0045). A state is the keyframe before it and the changes of the events
since; a difference looks only at what is not the same in both.

    keyframes   which levels a keyframe has, and what of them is written
    chunks      the text of a chunk, and of a level
    states      the state after an event: whole, or of some entities
    differences one patch from any event to any other
    series      what the small charts draw, counted once
    changes     what events changed, in order
"""
