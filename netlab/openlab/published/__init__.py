"""The source documents' figures as tidy frames, one row a measurement.

Each data set is a CSV file of values exactly as printed, with a JSON description beside it
(columns, units, document, section, table, digest). `load` reads the printed text into numbers;
it makes no corrections.
"""

from netlab.openlab.published.data import load
from netlab.openlab.published.printed_files import describe, names, read_raw

__all__ = ["describe", "load", "names", "read_raw"]
