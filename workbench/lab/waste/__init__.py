"""What a session carried and no longer needed: the rules, what it cost, and the tables."""
