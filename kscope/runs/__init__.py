"""Runs: recorded simulations, and everything that makes, stores, streams and shows them.

    web        pages and REST ─┬─▶ services ─▶ models      who may see a run: access
    stream     WebSockets     ─┤   selectors ─▶ models     reading: state at any event
    aside      engine work for pages, in other processes
    compare    two runs side by side
    drive      a worker moves a run on: slices, commits, checkpoints, replay, forks
    capacity   how many requests, texts, uploads and runs are taken on at once

It knows an engine only by the protocol in `engine.py`; `scheduling` provides one.
"""
