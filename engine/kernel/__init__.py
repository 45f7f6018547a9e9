"""Time, chance and history: the event loop, seeded streams, the recorder and its view state.

Knows nothing of Kubernetes. `loop` can be read in one sitting, and everything else runs on it.
"""
