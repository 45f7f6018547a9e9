"""Time, chance and history: the event loop, seeded streams, the recorder and its view state.

And `sentences`: what is said to readers, in any language.

Knows nothing of Kubernetes. `loop` can be read in one sitting, and everything else runs on it.
"""
