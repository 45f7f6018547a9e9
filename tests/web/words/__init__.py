"""Every text that people read is a whole sentence of the catalogue."""
