"""Paths of known rates, to see how far netlab's figures are from what TCP can carry there."""
