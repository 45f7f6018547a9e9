"""`make walk`: a walk through every page, which looks for what a reader would stumble over."""
