"""What the agents on this machine used and cost, and when."""
