"""What edit tools ask about reads: which lines have changed since they were shown, and which were never shown."""
