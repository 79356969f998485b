"""One run over two agents becomes one record."""

from netlab.measure.emulated import Emulated
from netlab.measure.exchange import RunEnd, RunOutcome, measure
from netlab.measure.ledger import Ledger, audit
from netlab.measure.record import RunSetting, interval_rows, record, trace_rows
from netlab.measure.transfer import Transfer, transfer_of

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
