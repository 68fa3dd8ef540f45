"""A recorded session to look at, and how it was recorded."""
