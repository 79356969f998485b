"""Minimal texts of two formats whose tools no longer exist, and where the recorded files are."""

from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"

REFUSED = {
    "iperf3-udp.json",
    "iperf3-refused.json",
    "iperf3-killed.json",
    "iperf3-text-udp.txt",
    "iperf3-text-refused.txt",
    "iperf2-udp.txt",
    "iperf2-refused.txt",
    "nuttcp-udp.txt",
    "nuttcp-refused.txt",
    "flent-no-data.flent.gz",
}

ACCEPTED = sorted(
    path.name for path in RECORDED.iterdir() if path.suffix != ".md" and path.name not in REFUSED
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
