"""Find the best run settings of a path by racing candidates."""
