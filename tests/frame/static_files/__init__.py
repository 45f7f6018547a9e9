"""What browsers load: modules, typefaces, and the page that plays offline."""
