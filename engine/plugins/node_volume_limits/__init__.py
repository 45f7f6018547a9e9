"""How many volumes a node may have attached."""
