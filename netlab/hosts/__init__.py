"""Hosts over SSH, on the network or in the lab: connection, agent process, deployment, facts."""
