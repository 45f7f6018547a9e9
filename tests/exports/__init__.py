"""What runs are exported as, read by the programs that others read it with."""
