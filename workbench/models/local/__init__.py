"""Models on the user's own machine: the embedded one, which we run, and servers that others started."""
