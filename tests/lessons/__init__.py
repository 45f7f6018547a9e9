"""The lessons of scenarios/lessons/, played."""
