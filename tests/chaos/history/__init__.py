"""What clients of the Kubernetes API did and saw while things broke, and whether that may be.

    record    what one client asked and was told, as it happened
    registers clients that write, read and watch a few objects, each a register
    clock     plays, pauses and finishes their run
    once      clients that count what came of each write
    linear    whether the writes and reads of an object have an order that explains them
    checks    everything that must hold of a history

An episode starts `Registers` and `Writers` beside its faults, and afterwards asks for their `faults`.
"""
