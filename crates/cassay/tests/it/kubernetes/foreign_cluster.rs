//! An external cluster in Kubernetes: a StatefulSet of plain Cassandra. Cassandra is the main
//! process of each container, and keeps its data on a volume. The cluster has a service and a
//! secret.

use super::{java_image, kubectl, make};
use crate::program::{HANG_LIMIT, Lab, ProgramOutput, command, wait_until};
use ::cassandra::{Access, Credentials, Session};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use target_spec::Secret;

/// Start script of each container. The script writes the node's configuration, serves a metric, and
/// replaces itself with Cassandra. The nodes find each other in a shared folder instead of by name.
const START: &str = r#"
mkdir -p /data/conf /data/tmp
echo $POD_IP > /seeds/$POD_NAME
seeds=$(cat /seeds/* | tr '\n' ',')
cat > /data/conf/cassandra.yaml <<Y
cluster_name: theirs
num_tokens: 4
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
authenticator: PasswordAuthenticator
role_manager: CassandraRoleManager
authorizer: AllowAllAuthorizer
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "${seeds%,}"}]
listen_address: $POD_IP
rpc_address: $POD_IP
data_file_directories: [/data/data]
commitlog_directory: /data/commitlog
hints_directory: /data/hints
saved_caches_directory: /data/saved_caches
cdc_raw_directory: /data/cdc_raw
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_total_space: 256MiB
read_request_timeout: 60s
write_request_timeout: 60s
Y
cat > /data/conf/logback.xml <<Y
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
Y
set -- -Xms512m -Xmx512m -XX:+UseG1GC -Djdk.attach.allowAttachSelf=true \
  -Dio.netty.tryReflectionSetAccessible=true -Djava.net.preferIPv4Stack=true \
  -Dcassandra-foreground=yes -Dcassandra.ring_delay_ms=2000 \
  -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.superuser_setup_delay_ms=0 \
  -Dcassandra.config=file:///data/conf/cassandra.yaml -Dcassandra.storagedir=/data \
  -Dlogback.configurationFile=/data/conf/logback.xml -Djava.io.tmpdir=/data/tmp
for one in java.base/jdk.internal.misc java.base/java.lang.ref java.rmi/sun.rmi.registry \
  java.rmi/sun.rmi.server java.sql/java.sql java.management.rmi/com.sun.jmx.remote.internal.rmi \
  jdk.unsupported/sun.misc jdk.compiler/com.sun.tools.javac.file jdk.attach/sun.tools.attach; do
  set -- "$@" --add-exports $one=ALL-UNNAMED
done
for one in java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect \
  java.base/java.io java.base/java.nio java.base/java.util java.base/java.util.concurrent \
  java.base/java.util.concurrent.atomic java.base/jdk.internal.loader java.base/sun.nio.ch \
  java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.math \
  java.base/jdk.internal.module java.base/jdk.internal.util.jar \
  jdk.management/com.sun.management.internal jdk.compiler/com.sun.tools.javac; do
  set -- "$@" --add-opens $one=ALL-UNNAMED
done
mkdir -p /tmp/www
echo 'org_apache_cassandra_demo 42' > /tmp/www/metrics
httpd -p 9000 -h /tmp/www
exec java "$@" -cp '/jars/*' org.apache.cassandra.service.CassandraDaemon
"#;

/// The cluster. It exists until this value is dropped.
pub struct ForeignCluster {
    password: String,
    lab: Lab,
}

impl ForeignCluster {
    /// Creates two ready nodes, a database user and a secret with the user's password. If
    /// `shares_ids` is true, the containers of a pod share process ids. Otherwise, each node is the
    /// first process of its container.
    pub fn new(shares_ids: bool) -> ForeignCluster {
        let lab = Lab::new();
        let theirs = ForeignCluster {
            password: format!("p{}", measure::clock::unix_ns()),
            lab,
        };
        for object in theirs.objects(shares_ids) {
            make(&theirs.lab, &object);
        }
        wait_until("its nodes are ready", || theirs.ready().len() == 2);
        let first = theirs.ready()[0];
        let mut session = theirs.session(first, "cassandra", "cassandra");
        // Each node has a replica of the users, so the remaining nodes accept logins too.
        let copied = "ALTER KEYSPACE system_auth WITH replication = {'class': \
                      'NetworkTopologyStrategy', 'datacenter1': 2}";
        let user = format!(
            "CREATE ROLE ann WITH superuser = true AND login = true AND password = '{}'",
            theirs.password
        );
        for statement in [copied, &user] {
            session.query(statement).expect("a statement of its owner");
        }
        theirs
    }

    fn objects(&self, shares_ids: bool) -> Vec<Value> {
        let jars = self.lab.cassay(&["supply", "fetch", "--json"]).ended_with(0);
        drop(jars);
        let listed = self.lab.cassay(&["supply", "list", "--json"]).ended_with(0).json();
        let jars = listed["jars"][0]["folder"].as_str().expect("a folder of jars");
        let folder = |name: &str| {
            let folder = self.lab.path().join(name);
            std::fs::create_dir_all(&folder).expect("a folder for a volume");
            folder
        };
        let volume = |name: &str, at: &Path| json!({"name": name, "hostPath": {"path": at}});
        let of_pod = |name: &str, field: &str| {
            json!({
                "name": name, "valueFrom": {"fieldRef": {"fieldPath": field}},
            })
        };
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "replicas": 2, "serviceName": "db",
                "selector": {"matchLabels": {"app": "db"}},
                "template": {"metadata": {"labels": {"app": "db"}}, "spec": {
                    "shareProcessNamespace": shares_ids,
                    "containers": [{
                        "name": "cassandra", "image": java_image(), "imagePullPolicy": "Never",
                        "command": ["sh", "-c", START],
                        "env": [
                            of_pod("POD_IP", "status.podIP"),
                            of_pod("POD_NAME", "metadata.name"),
                        ],
                        "readinessProbe": {"tcpSocket": {"port": 9042}, "periodSeconds": 1},
                        "resources": {"limits": {"memory": "1200Mi"}},
                        "volumeMounts": [
                            {"name": "data", "mountPath": "/data", "subPathExpr": "$(POD_NAME)"},
                            {"name": "seeds", "mountPath": "/seeds"},
                            {"name": "jars", "mountPath": "/jars", "readOnly": true},
                        ],
                    }],
                    "volumes": [
                        volume("data", &folder("volume")),
                        volume("seeds", &folder("seeds")),
                        volume("jars", Path::new(jars)),
                    ],
                }},
            },
        });
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "clusterIP": "None", "selector": {"app": "db"},
                // The service names its ports as Kubernetes operators do. It also names the port of
                // an agent that does not exist.
                "ports": [
                    {"name": "native", "port": 9042}, {"name": "prometheus", "port": 9103},
                    {"name": "metrics", "port": 9000},
                ],
            },
        });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "db-superuser", "namespace": "default"},
            "stringData": {"username": "ann", "password": self.password},
        });
        vec![set, service, secret]
    }

    /// Returns the CQL addresses of the cluster's ready nodes, in order.
    pub fn ready(&self) -> Vec<SocketAddr> {
        let each =
            "{range .items[?(@.status.containerStatuses[0].ready==true)]}{.status.podIP} {end}";
        let how = format!("jsonpath={each}");
        let said = kubectl(&["get", "pods", "-l", "app=db", "-o", &how]);
        let address = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 9042);
        said.split_whitespace().map(address).collect()
    }

    fn session(&self, at: SocketAddr, user: &str, password: &str) -> Session {
        let access = Access::new(
            Some(Credentials {
                user: user.to_owned(),
                password: Secret::new(password.to_owned()),
            }),
            None,
        );
        let mut opened = None;
        // Cassandra creates its default superuser shortly after it accepts connections, so the test
        // waits until a login succeeds.
        wait_until("it lets its owner in", || {
            opened = Session::open(at, &access, HANG_LIMIT).ok();
            opened.is_some()
        });
        opened.expect("a session")
    }

    /// Asserts that the password is in no file of a lab and in no output of a command, and in no
    /// object except its secret.
    #[track_caller]
    pub fn assert_password_hidden(&self, lab: &Lab, said: &ProgramOutput) {
        let kinds = "pods,jobs,configmaps,networkpolicies,statefulsets,events";
        let objects = kubectl(&["get", kinds, "-A", "-o", "json"]);
        let texts = all_texts(lab, said) + &objects;
        assert!(!texts.contains(&self.password), "the password is told");
    }
}

impl Drop for ForeignCluster {
    fn drop(&mut self) {
        // The test deletes the owners before their pods, so that no controller starts the pods
        // again. It needs no clean shutdown, because it does not need the data.
        let names = ["statefulset/db", "service/db", "secret/db-superuser"];
        for words in [
            &[&["delete", "--ignore-not-found"], &names[..]].concat()[..],
            &["delete", "pods", "-l", "app=db", "--grace-period=1"],
        ] {
            let _ = command("kubectl").args(words).output();
        }
    }
}

/// Returns all text in a lab's results, and in the output of a command.
fn all_texts(lab: &Lab, said: &ProgramOutput) -> String {
    let mut text = said.stdout.clone() + &said.stderr;
    let mut folders = vec![lab.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text += &String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default());
            }
        }
    }
    text
}
