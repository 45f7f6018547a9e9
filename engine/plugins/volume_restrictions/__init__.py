"""Disks and claims that pods may not share."""
