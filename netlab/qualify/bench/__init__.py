"""netlab beside other tools of its kind, on one path, under the same settings."""
