"""Lab hosts as network namespaces of this machine: topology, links, emulator, cleanup."""
