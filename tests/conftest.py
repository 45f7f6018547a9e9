"""How long an example of Hypothesis takes depends on what else the machine does: it is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
