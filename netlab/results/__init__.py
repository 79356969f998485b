"""The results store: one row a run, interval samples, traces, as Parquet.

A block of a study is a file in each of :data:`TABLES`: ``runs/<block>.parquet``,
``intervals/<block>.parquet`` and so on, under the study's results directory. Files are written to a
temporary name, fsynced and renamed, so a reader sees the old or the new one, never a half.
"""
