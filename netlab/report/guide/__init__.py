"""The guide: the documents of ``docs/`` and the API reference as pages of a site."""
