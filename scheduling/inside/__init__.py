"""What goes on inside schedulers: answers of a run that is played again, and their REST API."""
