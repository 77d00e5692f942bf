//! The cluster: etcd, API server, controllers, scheduler, containerd, one kubelet and the enforcer
//! of network policies. All of these programs use loopback addresses, and one folder for their
//! files. Each of them ends when this process ends. Mounts, namespaces, packet filters and
//! processes of pods are removed afterwards. The next start removes those of a cluster that was
//! killed.

use super::image::{JAVA, PAUSE, SHELL};
use crate::peers::sample;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use xtask::process;

/// Folder of the cluster. The path must be short, because the folder contains sockets.
const FOLDER: &str = "/run/cassay-kubernetes";

/// Bridge between pods, whose addresses are in [`SUBNET`].
const BRIDGE: &str = "cassay-k8s0";
const SUBNET: &str = "10.89.0.0/24";

/// Name of the node. The API server reaches the kubelet by this name.
const NODE: &str = "127.0.0.1";

/// Maximum time until a process is ready, and maximum time for the cleanup.
const LIMIT: Duration = Duration::from_secs(120);

/// Users with their groups. The first user has all permissions, and the second has the permissions
/// that a test grants.
const USERS: [(&str, &str); 2] = [("admin", "system:masters"), ("ann", "")];

/// A running cluster. It ends when this value is dropped.
pub struct Cluster {
    children: Vec<(&'static str, Child)>,
    is_over: bool,
    /// Lock that prevents a second cluster on this machine.
    _lock: File,
}

impl Cluster {
    /// Starts a cluster from the programs in a folder, with images from archives.
    pub fn start(logs: &Path, programs: &Path, images: &[PathBuf]) -> Result<Cluster> {
        let lock = File::create("/run/cassay-kubernetes.lock").context("make a lock")?;
        ensure!(
            lock.try_lock().is_ok(),
            "another `cargo xtask kubernetes` runs on this machine"
        );
        let mut cluster = Cluster {
            children: Vec::new(),
            is_over: false,
            _lock: lock,
        };
        clear()?;
        let ports = free_ports()?;
        write_files(&ports)?;
        let logs = logs.join("logs");
        fs::create_dir_all(&logs).context("make the folder of logs")?;
        let program = |name: &str| programs.join(name).to_string_lossy().into_owned();
        let [api, ..] = ports;
        for (name, program, arguments) in [
            ("etcd", program("etcd"), etcd(&ports)),
            ("apiserver", program("kube-apiserver"), apiserver(&ports)),
            (
                "controllers",
                program("kube-controller-manager"),
                controllers(),
            ),
            ("scheduler", program("kube-scheduler"), scheduler()),
            (
                "containerd",
                "/usr/bin/containerd".to_owned(),
                vec![in_folder("--config=containerd.toml")],
            ),
            ("kubelet", program("kubelet"), kubelet()),
            ("router", program("kube-router"), router()),
        ] {
            let mut words = vec!["--pdeathsig", "KILL", &program];
            words.extend(arguments.iter().map(String::as_str));
            let child = process::start_telling("setpriv", &words, &logs.join(name))?;
            cluster.children.push((name, child));
            match name {
                "etcd" => cluster.wait("etcd", || is_open(ports[1]))?,
                "apiserver" => cluster.wait("the API server", || {
                    is_open(api) && cluster_said(&["get", "--raw", "/readyz"]).is_ok()
                })?,
                "kubelet" => cluster.wait("the node", is_node_ready)?,
                "router" => cluster.wait("the router that enforces network policies", || {
                    process::output("iptables", &["-L", "KUBE-ROUTER-FORWARD"]).is_ok()
                })?,
                "containerd" => {
                    cluster.wait("containerd", || ctr(&["version"]).is_ok())?;
                    for image in images {
                        let image = image.to_string_lossy();
                        ctr(&["images", "import", "--snapshotter", "native", &image])?;
                    }
                }
                _ => {}
            }
        }
        Ok(cluster)
    }

    /// Returns the path of kubectl's configuration, which has the contexts `admin` and `ann`.
    pub fn kubeconfig(&self) -> PathBuf {
        Path::new(FOLDER).join("kubeconfig")
    }

    /// Returns the environment variables through which tests find the cluster.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            (
                "KUBECONFIG",
                self.kubeconfig().to_string_lossy().into_owned(),
            ),
            ("CASSAY_TEST_IMAGE", SHELL.to_owned()),
            ("CASSAY_TEST_JAVA_IMAGE", JAVA.to_owned()),
        ]
    }

    /// Stops the cluster, and removes all resources of its pods.
    pub fn end(mut self) -> Result<()> {
        self.stop()
    }

    fn stop(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        let reverse = self.children.iter_mut().rev();
        for (name, child) in reverse.filter(|(name, _)| *name != "containerd") {
            child.kill().with_context(|| format!("end {name}"))?;
            child.wait()?;
        }
        end_containers();
        for (_, child) in self.children.iter_mut().filter(|(name, _)| *name == "containerd") {
            child.kill().context("end containerd")?;
            child.wait()?;
        }
        clear()
    }

    fn wait(&mut self, what: &str, is_ready: impl Fn() -> bool) -> Result<()> {
        let begin = sample::now();
        while !is_ready() {
            for (name, child) in &mut self.children {
                if let Some(status) = child.try_wait()? {
                    bail!("{name} has ended ({status}): see target/kubernetes/logs/{name}");
                }
            }
            ensure!(
                begin.elapsed() < LIMIT,
                "{what} is not ready after {} s: see target/kubernetes/logs",
                LIMIT.as_secs()
            );
            pause();
        }
        println!("{what}: ready after {:.1} s", begin.elapsed().as_secs_f64());
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("warning: {error:#}");
        }
    }
}

fn is_node_ready() -> bool {
    let how = [
        "get",
        "node",
        NODE,
        "-o",
        "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}",
    ];
    cluster_said(&how).is_ok_and(|said| said == "True")
}

fn pause() {
    sample::wait(Duration::from_millis(200));
}

fn is_open(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn free_ports() -> Result<[u16; 4]> {
    let listeners = [(); 4].map(|()| TcpListener::bind(("127.0.0.1", 0)));
    let mut ports = [0; 4];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

fn in_folder(words: &str) -> String {
    words.replacen('=', &format!("={FOLDER}/"), 1)
}

fn etcd(&[_, client, peer, _]: &[u16; 4]) -> Vec<String> {
    vec![
        in_folder("--data-dir=etcd"),
        format!("--listen-client-urls=http://127.0.0.1:{client}"),
        format!("--advertise-client-urls=http://127.0.0.1:{client}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
        "--unsafe-no-fsync".to_owned(),
    ]
}

fn apiserver(&[api, etcd, ..]: &[u16; 4]) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={api}"),
        in_folder("--cert-dir=certificates"),
        in_folder("--token-auth-file=tokens"),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://cassay.test".to_owned(),
        in_folder("--service-account-key-file=account.key"),
        in_folder("--service-account-signing-key-file=account.key"),
        "--service-cluster-ip-range=10.90.0.0/24".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
}

fn controllers() -> Vec<String> {
    vec![
        in_folder("--kubeconfig=kubeconfig"),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        "--secure-port=0".to_owned(),
        in_folder("--service-account-private-key-file=account.key"),
        "--controllers=*,-node-ipam-controller,-service-lb-controller".to_owned(),
    ]
}

fn scheduler() -> Vec<String> {
    vec![
        in_folder("--kubeconfig=kubeconfig"),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        "--secure-port=0".to_owned(),
    ]
}

fn kubelet() -> Vec<String> {
    vec![
        in_folder("--config=kubelet.json"),
        in_folder("--kubeconfig=kubeconfig"),
        format!("--hostname-override={NODE}"),
        in_folder("--root-dir=kubelet"),
        in_folder("--cert-dir=kubelet-certificates"),
    ]
}

fn router() -> Vec<String> {
    vec![
        in_folder("--kubeconfig=kubeconfig"),
        format!("--hostname-override={NODE}"),
        "--run-firewall=true".to_owned(),
        "--run-router=false".to_owned(),
        "--run-service-proxy=false".to_owned(),
        "--enable-ipv6=false".to_owned(),
        "--service-cluster-ip-range=10.90.0.0/24".to_owned(),
        "--health-port=0".to_owned(),
    ]
}

fn write_files(&[api, _, _, kubelet]: &[u16; 4]) -> Result<()> {
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder.join("cni")).context("make the folder of the cluster")?;
    let key = folder.join("account.key");
    process::output(
        "openssl",
        &["genrsa", "-out", &key.to_string_lossy(), "2048"],
    )?;
    let token = |user: &str| format!("token-of-{user}");
    let tokens = USERS.map(|(user, group)| format!("{},{user},{user},\"{group}\"\n", token(user)));
    let users = USERS.map(|(user, _)| json!({"name": user, "user": {"token": token(user)}}));
    let contexts = USERS.map(|(user, _)| {
        json!({"name": user, "context": {"cluster": "test", "user": user, "namespace": "default"}})
    });
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{api}"),
            "certificate-authority": format!("{FOLDER}/certificates/apiserver.crt"),
        }}],
        "users": users,
        "contexts": contexts,
    });
    let kubelet = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "127.0.0.1",
        "port": kubelet,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "failSwapOn": false,
        "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": format!("unix://{FOLDER}/containerd.sock"),
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%",
                         "imagefs.available": "1%", "nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100,
        "resolvConf": "",
    });
    for (name, text) in [
        ("tokens", tokens.concat()),
        ("kubeconfig", kubeconfig.to_string()),
        ("kubelet.json", kubelet.to_string()),
        ("cni/10-bridge.conflist", bridge().to_string()),
        ("containerd.toml", containerd()),
    ] {
        fs::write(folder.join(name), text).with_context(|| format!("write {name}"))?;
    }
    Ok(())
}

/// Returns the network configuration of pods.
fn bridge() -> serde_json::Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "cassay",
        "plugins": [{
            "type": "bridge",
            "bridge": BRIDGE,
            "isGateway": true,
            "ipam": {
                "type": "host-local",
                "dataDir": format!("{FOLDER}/addresses"),
                "ranges": [[{"subnet": SUBNET}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

fn containerd() -> String {
    // The OOM score is restricted, because runc fails if it does not have the permission to lower
    // the score.
    format!(
        "version = 2\nroot = \"{FOLDER}/containerd\"\nstate = \"{FOLDER}/state\"\n\
         [grpc]\naddress = \"{FOLDER}/containerd.sock\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"{PAUSE}\"\n\
         restrict_oom_score_adj = true\n\
         [plugins.\"io.containerd.grpc.v1.cri\".containerd]\nsnapshotter = \"native\"\n\
         default_runtime_name = \"runc\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n\
         runtime_type = \"io.containerd.runc.v2\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/usr/lib/cni\"\n\
         conf_dir = \"{FOLDER}/cni\"\n"
    )
}

fn cluster_said(words: &[&str]) -> Result<String> {
    let config = format!("--kubeconfig={FOLDER}/kubeconfig");
    process::output("kubectl", &[&[config.as_str()], words].concat())
}

fn ctr(words: &[&str]) -> Result<String> {
    let socket = format!("{FOLDER}/containerd.sock");
    process::output("ctr", &[&["-a", &socket, "-n", "k8s.io"], words].concat())
}

/// Ends the containers of pods, if containerd is still running.
fn end_containers() {
    for container in ctr(&["containers", "list", "-q"]).unwrap_or_default().lines() {
        // The results are ignored, because a container that cannot be deleted here ends together
        // with its shim.
        let _ = ctr(&["tasks", "delete", "--force", container]);
        let _ = ctr(&["containers", "delete", container]);
    }
}

/// Removes all leftovers of a cluster: containerd's shims, mounts, names of network namespaces, the
/// bridge, rules of the packet filter, and the folder.
fn clear() -> Result<()> {
    // Removes only the chains of network policies and the sets that they use.
    let unfiltered = "iptables-save -t filter | grep -v 'KUBE-\\(ROUTER\\|POD-FW\\|NWPLCY\\)' | \
                      iptables-restore -T filter; for set in $(ipset list -n | grep '^KUBE-'); do \
                      ipset destroy $set; done";
    process::output("sh", &["-c", unfiltered])?;
    // Kills only the shims of this containerd. The shims are recognised by the socket of this
    // containerd, which is among their arguments.
    let _ = process::output(
        "pkill",
        &["-KILL", "-f", &format!("^.*shim.* -address {FOLDER}/")],
    );
    let mounts = fs::read_to_string("/proc/self/mounts").context("read the list of mounts")?;
    let below = |line: &&str| line.split(' ').nth(1).is_some_and(|at| at.starts_with(FOLDER));
    for line in mounts.lines().rev().filter(below) {
        let at = line.split(' ').nth(1).unwrap_or_default();
        process::output("umount", &["-l", at])?;
    }
    if Path::new("/sys/class/net").join(BRIDGE).exists() {
        for name in process::output("ip", &["netns", "list"]).unwrap_or_default().lines() {
            let name = name.split(' ').next().unwrap_or_default();
            if name.starts_with("cni-") {
                let _ = process::output("ip", &["netns", "del", name]);
            }
        }
        process::output("ip", &["link", "del", BRIDGE])?;
    }
    match fs::remove_dir_all(FOLDER) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {FOLDER}"))
        }
        _ => Ok(()),
    }
}
