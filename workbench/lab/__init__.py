"""Which policy is best for my agents: whole sessions replayed under each of them, and compared in numbers."""
