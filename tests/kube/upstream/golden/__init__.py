"""What specs of upstream's suite said to a run when they passed: recorded once, played here without it.

    recorder ─▶ one file for each spec ─▶ reducing ─▶ golden.tar.xz ─▶ playing ─▶ matching

`python -m tests.kube.upstream --record FOLDER` records, and packs what is in FOLDER.
"""
