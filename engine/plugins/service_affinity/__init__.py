"""Pods of one service kept together, or apart."""
