# Starts one Apache Cassandra node from the jars of Maven. The findings that need a node source this file.
#
#   cassandra_of VERSION [LINE OF cassandra.yaml ...]   installs and starts a node; sets $work, $pid, $port, $python
#   start_node                                          starts the node again, on the same data
set -euo pipefail

work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT
driver=3.29.2

cassandra_of() {
  local version=$1
  shift
  mkdir -p "$work/lib" "$work/conf"
  cat >"$work/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>findings</groupId><artifactId>node</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
<version>$version</version></dependency></dependencies></project>
POM
  mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$work/lib"
  python3 -m venv "$work/python"
  python=$work/python/bin/python
  "$work/python/bin/pip" install -q --disable-pip-version-check "cassandra-driver==$driver"
  port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  local storage
  storage=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  cat >"$work/conf/cassandra.yaml" <<YAML
cluster_name: findings
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: $port
storage_port: $storage
num_tokens: 1
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: '127.0.0.1:$storage'}]}]
commitlog_sync: periodic
commitlog_sync_period: 10000ms
data_file_directories: [$work/data]
commitlog_directory: $work/commitlog
hints_directory: $work/hints
saved_caches_directory: $work/caches
cdc_raw_directory: $work/cdc
YAML
  printf '%s\n' "$@" >>"$work/conf/cassandra.yaml"
  start_node
}

start_node() {
  local options=(-Xms512m -Xmx512m -Dcassandra.storagedir="$work" -Dcassandra.skip_wait_for_gossip_to_settle=0
    -Dcassandra.ring_delay_ms=100 -Djdk.attach.allowAttachSelf=true -cp "$work/conf:$work/lib/*")
  local agent package
  agent=$(ls "$work"/lib/jamm-*.jar)
  options+=("-javaagent:$agent")
  for package in java.base/jdk.internal.misc java.management.rmi/com.sun.jmx.remote.internal.rmi \
    java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.sql/java.sql java.base/java.lang.ref \
    jdk.unsupported/sun.misc jdk.compiler/com.sun.tools.javac.file jdk.attach/sun.tools.attach; do
    options+=("--add-exports=$package=ALL-UNNAMED")
  done
  for package in java.lang.module jdk.internal.loader jdk.internal.ref jdk.internal.reflect jdk.internal.math \
    jdk.internal.module jdk.internal.util.jar sun.nio.ch java.io java.lang.reflect java.lang java.util \
    java.util.concurrent java.util.concurrent.atomic java.nio; do
    options+=("--add-opens=java.base/$package=ALL-UNNAMED")
  done
  options+=(--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED
    --add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED)
  java "${options[@]}" org.apache.cassandra.service.CassandraDaemon >"$work/log" 2>&1 &
  pid=$!
  local tries
  for tries in $(seq 240); do
    if "$python" - "$port" 2>/dev/null <<'PYTHON'
import sys
from cassandra.cluster import Cluster
Cluster(["127.0.0.1"], port=int(sys.argv[1]), protocol_version=4).connect()
PYTHON
    then
      return
    fi
    kill -0 "$pid" 2>/dev/null || { tail -n 20 "$work/log" >&2; exit 1; }
    sleep 0.5
  done
  echo "the node did not come up" >&2
  exit 1
}
