"""What there is to look at: own sessions, files, other agents, recorded requests and their plans."""
