#!/usr/bin/env bash
# Apache Cassandra 6.0-alpha2: DESCRIBE TABLE returns more than one statement for a table with a comment.
#
# Expected: `create_statement` of an answer to DESCRIBE contains the statement that creates the element, as in 4.0 to
# 5.0. Observed: for a table with a comment, the CREATE TABLE contains the comment, and a `COMMENT ON TABLE` after it
# repeats the comment. The text is two statements. So the server that wrote the text refuses to execute it as one
# statement, and 5.0 cannot parse its second half.
set -euo pipefail
. "$(dirname "$0")/node.sh"

cassandra_of 6.0-alpha2 ''
"$python" - "$port" <<'PYTHON'
import sys
from cassandra.cluster import Cluster
session = Cluster(["127.0.0.1"], port=int(sys.argv[1]), protocol_version=4).connect()
version = session.execute("SELECT release_version FROM system.local").one()[0]
session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
session.execute("CREATE TABLE k.plain (id int PRIMARY KEY)")
session.execute("CREATE TABLE k.told (id int PRIMARY KEY) WITH comment = 'orders of today'")
described = {name: session.execute(f"DESCRIBE TABLE k.{name}").one().create_statement for name in ("plain", "told")}
print(f"Apache Cassandra {version}")
for name, text in described.items():
    print(f"{name}: {text.count(';')} statement(s), the last is:", text.strip().split(";\n")[-1].strip()[:60])
assert version == "6.0-alpha2"
assert described["plain"].count(";") == 1
assert "comment = 'orders of today'" in described["told"], "the CREATE TABLE no longer holds it"
assert "COMMENT ON TABLE k.told IS 'orders of today'" in described["told"], "the behaviour has changed"
session.execute("DROP TABLE k.told")
try:
    session.execute(described["told"])
    raise SystemExit("the server took its own description: the behaviour has changed")
except Exception as refusal:
    print("executed as one statement:", str(refusal).splitlines()[0][:120])
PYTHON
