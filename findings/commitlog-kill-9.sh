#!/usr/bin/env bash
# Apache Cassandra 5.0.9: kill -9 of the process loses acknowledged writes. The node uses the defaults:
# `commitlog_sync: periodic` and a memory-mapped commit log.
#
# Expected: the log is a mapped file, so the kernel still has its content when the process dies. Only a loss of power
# loses unsynced writes. Observed: a node that starts again replays the log only up to the last sync marker. A periodic
# log gets a marker every 100 ms (AbstractCommitLogService.DEFAULT_MARKER_INTERVAL_MILLIS).
set -euo pipefail
. "$(dirname "$0")/node.sh"

cassandra_of 5.0.9
"$python" - "$port" "$pid" "$work/acknowledged" <<'PYTHON'
import os, signal, sys, threading, time
from cassandra.cluster import Cluster
port, pid, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
session = Cluster(["127.0.0.1"], port=port, protocol_version=4).connect()
session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
session.execute("CREATE TABLE k.t (id int PRIMARY KEY, v text)")
insert = session.prepare("INSERT INTO k.t (id, v) VALUES (?, 'x')")
acknowledged, killed = [], []
def kill():
    time.sleep(5)
    os.kill(pid, signal.SIGKILL)
    killed.append(time.monotonic())
threading.Thread(target=kill).start()
number = 0
try:
    while True:
        session.execute(insert, (number,), timeout=2)
        acknowledged.append((number, time.monotonic()))
        number += 1
except Exception:
    pass
with open(path, "w") as file:
    for number, at in acknowledged:
        file.write(f"{number} {killed[0] - at:.6f}\n")
os._exit(0)
PYTHON
wait "$pid" 2>/dev/null || true
start_node
"$python" - "$port" "$work/acknowledged" <<'PYTHON'
import sys
from cassandra.cluster import Cluster
session = Cluster(["127.0.0.1"], port=int(sys.argv[1]), protocol_version=4).connect()
version = session.execute("SELECT release_version FROM system.local").one()[0]
there = {row[0] for row in session.execute("SELECT id FROM k.t")}
acknowledged = [line.split() for line in open(sys.argv[2])]
lost = [float(before) for number, before in acknowledged if int(number) not in there]
print(f"Apache Cassandra {version}, commitlog_sync: periodic, mapped log, kill -9 under load")
print(f"acknowledged {len(acknowledged)}, lost {len(lost)}")
if lost:
    print(f"the oldest lost write was acknowledged {max(lost) * 1000:.0f} ms before the kill")
assert version == "5.0.9"
assert lost, "nothing acknowledged was lost: the behaviour has changed"
assert max(lost) < 1.1, "a write was lost that is older than the last marker can be"
PYTHON
