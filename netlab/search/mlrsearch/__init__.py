"""The highest rates of datagrams without loss, or with little, by MLRsearch."""
