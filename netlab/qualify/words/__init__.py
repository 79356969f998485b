"""Known limits: lab paths and programs whose bottleneck is known, and the words of their runs."""
