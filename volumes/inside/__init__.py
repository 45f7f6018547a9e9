"""What goes on inside what looks after volumes: answers, and their REST API."""
