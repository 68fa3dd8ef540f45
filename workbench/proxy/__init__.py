"""A proxy between an agent and its model. It passes requests on unchanged and records them as sessions."""
