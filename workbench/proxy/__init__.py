"""Between an agent and its model: requests pass unchanged, and become sessions."""
