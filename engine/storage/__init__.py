"""Volumes: which claim gets which volume, and what their drivers do.

binding ─▶ matching ─▶ topology, ports         plugins, operations: drivers and their pace
"""
