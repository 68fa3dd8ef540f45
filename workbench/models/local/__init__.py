"""Models on the user's own machine: the embedded one, run by us, and the servers that somebody else started."""
