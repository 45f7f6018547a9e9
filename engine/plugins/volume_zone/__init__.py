"""Zones of volumes."""
