"""The tables that a driver writes to: how rows are added, and which rows of objects are still to come."""
