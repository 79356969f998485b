"""How a host is reached: over SSH, on machines of the network or in the lab that netlab makes."""
