"""A look at two hosts: what they have, their path, and what would spoil a measurement."""
