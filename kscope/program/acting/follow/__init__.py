"""`kscope follow`: a cluster that is kept in step, with kscope's verdict beside each decision.

watching: a thread for each kind, which lists, watches and lists again ─▶ a queue of changes
mirror: a cluster of the engine whose time stands still, which takes the changes
verdicts: what kscope decides on a pod before the cluster's decision is taken over
run: the same changes, as commands to a run of a kscope that serves
answer: the command: reads the queue, prints, forks
"""
