"""One run over two agents becomes one record."""

from netlab.measure.exchange import Emulated, RunEnd, RunOutcome, measure
from netlab.measure.ledger import Ledger, Transfer, audit, transfer_of
from netlab.measure.record import RunSetting, interval_rows, record, trace_rows

__all__ = [
    "Emulated",
    "Ledger",
    "RunEnd",
    "RunOutcome",
    "RunSetting",
    "Transfer",
    "audit",
    "interval_rows",
    "measure",
    "record",
    "trace_rows",
    "transfer_of",
]
