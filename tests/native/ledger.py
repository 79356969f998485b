"""The ledger of one run: what both ends counted, to the byte."""

from __future__ import annotations

HELLO_B = 64
TCP_KEYS = {
    "rtt_us", "rttvar_us", "min_rtt_us", "cwnd_segments", "ssthresh_segments", "mss_B",
    "rcv_mss_B", "pmtu_B", "retransmits", "lost", "reordering", "busy_us", "rwnd_limited_us",
    "sndbuf_limited_us", "bytes_acked", "bytes_received", "bytes_sent", "bytes_retransmitted",
    "segs_out", "segs_in", "delivered_ce", "delivery_rate_Bps", "rcv_space_B", "snd_wscale",
    "rcv_wscale", "options", "notsent_B", "peer_window_B",
}  # fmt: skip


def assert_ledger_closes(sink: dict, gen: dict) -> None:
    """Both ends of a clean run agree to the byte, within the bounds the header states."""
    assert (sink["status"], gen["status"]) == ("ok", "ok"), (sink["message"], gen["message"])
    # nothing, where a timed run ended before its threads had a CPU
    assert sink["total_bytes"] == gen["total_bytes"]
    for end in (sink, gen):
        assert end["interval_sum_bytes"] == end["total_bytes"]
        assert sum(row["bytes"] for row in end["per_stream"]) == end["total_bytes"]
        assert sum(row["window_bytes"] for row in end["per_stream"]) == end["window"]["bytes"]
        times, rows = end["samples"]["t_ns"], end["samples"]["bytes"]
        assert times == sorted(times) and times[0] == end["t_go_ns"]
        assert all(len(row) == len(times) and row == sorted(row) for row in rows)
        assert [row[-1] for row in rows] == [s["bytes"] for s in end["per_stream"]]
        assert all(row[0] == 0 for row in rows)
    for received, sent in zip(sink["per_stream"], gen["per_stream"], strict=True):
        assert received["bytes"] == sent["bytes"]
        assert HELLO_B <= sent["tcp"]["bytes_acked"] - sent["bytes"] <= HELLO_B + 2
        assert HELLO_B <= received["tcp"]["bytes_received"] - received["bytes"] <= HELLO_B + 1
        assert set(sent["tcp"]) == TCP_KEYS
        assert sent["tcp"]["bytes_sent"] >= sent["bytes"] + HELLO_B
        # on a busy machine one of many streams may not get a turn in so short a run
        assert (sent["calls"] > 0) == (sent["bytes"] > 0)
        assert sent["congestion"] == received["congestion"] == "cubic"
