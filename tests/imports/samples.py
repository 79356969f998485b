"""Texts of formats that are not recorded, written for the tests, and where the recorded are."""

import json
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "outputs" / "recorded"

REFUSED = {
    *("iperf3-refused.json", "iperf3-killed.json", "iperf3-text-refused.txt"),
    *("iperf2-udp.txt", "iperf2-refused.txt", "nuttcp-refused.txt", "flent-no-data.flent.gz"),
}

SEVERAL = {"iperf2-dual-server.txt", "iperf2-tradeoff.txt"}
"""Files of several runs."""

ACCEPTED = sorted(
    path.name
    for path in RECORDED.iterdir()
    if path.suffix != ".md" and path.name not in REFUSED | SEVERAL
)

RAPID = """\
[root@w02gva fc]# ./rapid -r -i192.91.239.213 -l16388608 -n1000 -R154217728
Server bound!
Server listening!
Client accepted!
Network activity progressing...
statistics for process: 0
-------------------------
amount transferred: 16388608000.0 bytes
start time: 1046671178.446
stop time: 1046671238.437
total time: 59.991 secounds
throughput: 2185.476 megabits/sec

totals:
=======
total amount transferred: 16388608000.0 bytes
the earliest start time of any child: 1046671178.446
the latest stop time of any child: 1046671238.437
total elapsed time: 59.991 seconds
total throughput: 2185.476 megabits/sec
Done!
"""

IPERF2_2010 = """\
[root@centos1 ~]# iperf -n 900M -mc 172.16.1.12
------------------------------------------------------------
Client connecting to 172.16.1.12, TCP port 5001
TCP window size: 27.5 KByte (default)
------------------------------------------------------------
[ 3] local 172.16.1.11 port 39019 connected with 172.16.1.12 port 5001
[ ID] Interval Transfer Bandwidth
[ 3] 0.0-19.3 sec 900 MBytes 390 Mbits/sec
[ 3] MSS size 8948 bytes (MTU 8988 bytes, unknown interface)
[root@centos1 ~]# iperf -n 900M -mc 172.16.1.12
------------------------------------------------------------
Client connecting to 172.16.1.12, TCP port 5001
TCP window size: 192 KByte (default)
------------------------------------------------------------
[ 3] local 172.16.1.11 port 36932 connected with 172.16.1.12 port 5001
[ ID] Interval Transfer Bandwidth
[ 3] 0.0- 7.9 sec 900 MBytes 955 Mbits/sec
[ 3] MSS size 8948 bytes (MTU 8988 bytes, unknown interface)
"""

BANNER = "TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to right () port 0 AF_INET : demo"
CLASSIC = f"""MIGRATED TCP STREAM {BANNER}
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00     800.00
"""
OMNI = f"""OMNI Send {BANNER}
Elapsed Time (sec),Protocol,Direction,Throughput,Throughput Units,Remote Bytes Received
10.00,TCP,Send,800.00,10^6bits/s,999000000
"""
KEYS = """DIRECTION=Receive
PROTOCOL=TCP
ELAPSED_TIME=10.00
THROUGHPUT=800.00
THROUGHPUT_UNITS=10^6bits/s
LOCAL_BYTES_RECVD=1000000000
REMOTE_BYTES_SENT=1000100000
REMOTE_CONG_CONTROL=cubic
TRANSPORT_MSS=1448
"""
INTERIM = "Interim result:  800.00 10^6bits/s over 1.000 seconds ending at 1000.000\n"
NEPER = """client=1
enable_read=0
num_flows=4
total_run_time=10
throughput=800.00
throughput_units=Mbit/s
local_throughput=800000000
"""
NTTTCP = """NTTTCP for Linux 1.4.0
10:00:00 INFO: 17 threads created
10:00:11 INFO: #####  Totals:  #####
10:00:11 INFO: test duration\t:10.00 seconds
10:00:11 INFO: total bytes\t:1000000000
10:00:11 INFO: \t throughput\t:800.00Mbps
10:00:11 INFO: \t retrans segs\t:5
"""
KPERF = """kperf: == Source left
kperf:   Tx  0.800 Gbps (1000000000 bytes in 10000000 usec)
kperf:   Rx  0.000 Gbps (0 bytes in 10000000 usec)
kperf: == Target right
kperf:   Tx  0.000 Gbps (0 bytes in 10000000 usec)
kperf:   Rx  0.800 Gbps (999900000 bytes in 10000000 usec)
"""


def pscheduler(**summary: object) -> str:
    part = {"stream-id": 5, "throughput-bits": 8e8, "throughput-bytes": 5e8}
    intervals = [{**part, "start": at, "end": at + 5} for at in (0, 5)]
    whole = {**part, "throughput-bytes": 1e9, "start": 0, "end": 10, **summary}
    result = {
        "succeeded": True,
        "intervals": [{"streams": [one], "summary": one} for one in intervals],
        "summary": {"streams": [whole], "summary": whole},
    }
    return json.dumps({"test": {"type": "throughput", "spec": {"dest": "right"}}, "result": result})


HALF = "  500.0000 MB /   5.00 sec =  838.8608 Mbps     0 retrans Tot: "
RUNNING = f"""{HALF}  500.0000 MB /   5.00 sec =  838.8608 Mbps     0 retrans
{HALF} 1000.0000 MB /  10.00 sec =  838.8608 Mbps     0 retrans

 1000.0000 MB /  10.00 sec =  838.8608 Mbps 7 %TX 3 %RX 0 retrans 0.07 msRTT
"""


def flent(version: int, *, mean: float, t0: str = "2026-11-27T09:00:00", **meta: object) -> str:
    """A data file with one upload of four samples, the first at T0, and latency beside it."""
    t0_s = 1795766400.0  # 08:00 UTC
    samples = [{"t": t0_s + 0.5 * n, "dur": 0.5, "val": 0.2} for n in range(4)]
    cwnd = {"t": t0_s + 0.1, "tcp_cwnd": 10, "tcp_rtt": 20.0}
    stream = {"MEAN_VALUE": mean, "UNITS": "Mbits/s", **meta}
    return json.dumps(
        {
            "version": version,
            "metadata": {
                **{"FLENT_VERSION": "1.0", "NAME": "tcp_1up", "T0": t0},
                "SERIES_META": {"TCP upload": stream, "TCP upload sum": {"MEAN_VALUE": mean}},
            },
            "raw_values": {
                "TCP upload": [cwnd, *samples],
                "TCP upload sum": [],
                "Ping (ms) ICMP": [{"t": t0_s, "val": 20.0}, {"t": t0_s + 1, "val": 24.0}],
                "Ping (ms) UDP BE1": [{"t": t0_s, "dur": 0.2, "val": 50.0}],
            },
        }
    )


TEXTS = {
    **{"rapid": RAPID, "iperf2-2010": IPERF2_2010, "netperf": CLASSIC, "netperf CSV": OMNI},
    **{"netperf keys": KEYS, "neper": NEPER, "ntttcp": NTTTCP, "kperf": KPERF},
    **{"pScheduler": pscheduler(), "running": RUNNING, "flent 2": flent(2, mean=0.2)},
}
