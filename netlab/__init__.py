"""netlab: reproducible throughput studies of a network path."""

__version__ = "0.1.0"
