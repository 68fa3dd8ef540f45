"""Other agents on this machine: which sessions they have."""
