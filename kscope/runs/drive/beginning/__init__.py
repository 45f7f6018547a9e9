"""How the cluster of a run begins: built from its scenario, or given what a checkpoint leaves out."""
