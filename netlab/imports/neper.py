"""neper's tcp_stream: key=value of one end."""

from __future__ import annotations

import re

from netlab.imports.totals import total_record, unit_of
from netlab.outputs.records import MAX_STREAMS, End, Record, expect
from netlab.outputs.rounded import NUMBER, Printed, numbered

NEPER = re.compile(r"^(?:local_throughput|throughput_units|invalid_secret_count)=", re.MULTILINE)


def of_neper(text: str) -> Record:
    keys = dict(line.split("=", 1) for _, line in numbered(text) if re.match(r"\w+=", line))
    expect("throughput_units" in keys, 1, "request and response; it has no goodput", "E-IMPORT-129")
    rate, time, flows = (keys.get(k, "") for k in ("throughput", "total_run_time", "num_flows"))
    numeric = all(re.fullmatch(NUMBER, one) for one in (rate, time, flows)) and "." not in flows
    expect(numeric, 1, "throughput, total_run_time or num_flows is missing", "E-IMPORT-130")
    rate_Bps = Printed.read(rate).scaled(unit_of(1, keys["throughput_units"]))
    if re.fullmatch(r"\d{1,18}", exact := keys.get("local_throughput", "")):
        agrees = rate_Bps.agrees(int(exact) / 8)
        expect(agrees, 1, "throughput and local_throughput do not agree", "E-IMPORT-131")
        rate_Bps = Printed(int(exact) / 8, 0.5)
    client, reads, writes = (
        keys.get(key) in ("1", "true") for key in ("client", "enable_read", "enable_write")
    )
    expect(not (reads and writes), 1, "both directions in one rate", "E-IMPORT-132")
    receives = reads or not (client or writes)
    streams = int(flows)
    expect(1 <= streams <= MAX_STREAMS, 1, f"{streams} streams cannot be", "E-IMPORT-133")
    at: End = "receiver" if receives else "sender"
    facts = {"streams": streams, "client_sends": client != receives, "rounded": True}
    return total_record("neper", 1, Printed.read(time), rate_Bps, at, {}, **facts)
