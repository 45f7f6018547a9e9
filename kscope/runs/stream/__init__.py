"""What leaves a run as a stream: live over WebSockets, and as an exported timeline.

One `streaming.Hub` per run and process reads each range of events once and hands the same text to
every client, as `frames`; `stream_room` bounds the memory of all hubs; `consumers` is the socket. The messages
are in docs/streaming.md.
"""
