"""How a worker ends: its drivers learn that it is to stop, and a task that hangs is ended."""
