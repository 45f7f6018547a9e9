"""What is found when a run is compared: with its record, and with an external scheduler."""
