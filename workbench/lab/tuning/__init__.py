"""The search for the best policy: what to minimise, which knobs to change, what to try next, and what was found."""
