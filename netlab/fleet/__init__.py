"""A fleet: one study over many pairs of hosts, side by side where no two share a host."""
