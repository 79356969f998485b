"""TCP congestion control: window laws, and the choice of an implementation on a host."""
