"""Why a pod has no node, and the smallest change that would give it one: see `diagnose`."""

from engine.diagnosis.inquiry import diagnose
from engine.diagnosis.report import Cause, Check, Diagnosis, Fix, Outlook

__all__ = ["Cause", "Check", "Diagnosis", "Fix", "Outlook", "diagnose"]
