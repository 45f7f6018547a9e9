"""Cordoned nodes."""
