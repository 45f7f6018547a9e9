"""Pods of one service or controller spread over nodes and zones."""
