"""Import of other tools' output into the results schema, with provenance ``imported``."""
