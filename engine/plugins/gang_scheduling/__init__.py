"""All or none of the pods of a group."""
