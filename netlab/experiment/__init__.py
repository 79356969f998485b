"""A study measured: endpoint, trial, block, campaign; preflight and progress."""
