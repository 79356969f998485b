"""TCP congestion control: window laws, the choice of an implementation, ``wad.conf``."""
