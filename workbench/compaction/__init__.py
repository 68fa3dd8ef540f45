"""How the past is summarised: when, what of it, how, what was lost, and the way back."""
