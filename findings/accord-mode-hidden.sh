#!/usr/bin/env bash
# Apache Cassandra 6.0-alpha2: no table of `system_schema` states the `transactional_mode` of a table.
#
# Expected: the options of a table are columns of `system_schema.tables`. Observed: `system_schema.tables` has Accord's
# option `fast_path`, but neither `transactional_mode` nor `transactional_migration_from`. Only DESCRIBE shows these
# two. A program that copies definitions or compares settings through `system_schema` cannot distinguish a transactional
# table from an ordinary table.
set -euo pipefail
. "$(dirname "$0")/node.sh"

cassandra_of 6.0-alpha2 'accord: {enabled: true}'
"$python" - "$port" <<'PYTHON'
import sys
from cassandra.cluster import Cluster
session = Cluster(["127.0.0.1"], port=int(sys.argv[1]), protocol_version=4).connect()
version = session.execute("SELECT release_version FROM system.local").one()[0]
session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
session.execute("CREATE TABLE k.t (id int PRIMARY KEY) WITH transactional_mode = 'full'")
described = session.execute("DESCRIBE TABLE k.t").one().create_statement
rows = session.execute("SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema'")
columns = {(row.table_name, row.column_name) for row in rows}
naming = sorted(f"{table}.{column}" for table, column in columns if "transaction" in column)
print(f"Apache Cassandra {version}")
print("DESCRIBE:", next(line.strip() for line in described.splitlines() if "transactional_mode" in line))
print("columns of system_schema with `transaction` in their name:", naming or "none")
assert version == "6.0-alpha2"
assert "transactional_mode = 'full'" in described
assert not naming, "system_schema names it now: the behaviour has changed"
assert ("tables", "fast_path") in columns
PYTHON
