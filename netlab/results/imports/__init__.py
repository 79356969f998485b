"""Other tools' output read into the results schema, with provenance ``imported``."""
