"""Which volume a claim gets: one set of rules for the PV controller, the scheduler and the pages."""
