"""One run over two agents becomes one record."""
