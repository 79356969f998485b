"""Other tools of netlab's kind: how each is called, and how what it prints is read."""
