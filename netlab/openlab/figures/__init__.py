"""Charts of the documents of 2003, of their claims, and of a measured study beside them."""
