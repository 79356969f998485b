"""Reports: tables of a measured study, and the site of executed notebooks.

Importing this package loads none of its modules, so that a table does not wait for the site's.
"""
