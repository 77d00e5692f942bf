//! Parses `-mode`, `-node`, `-port`, `-transport`, `-credentials-file` and `-jmx`, which determine
//! the nodes to contact and the login.
//!
//! A secret exists only as a [`Secret`], so messages cannot contain it.

use cql::Compression;
use yaml::{Diagnostics, Place};

use super::{params, params_or_none};
use crate::import_result::Secret;
use crate::stress::argument_values;
use crate::stress::command::Groups;
use crate::stress::params::{KnownParam, Params, new};
use crate::tls_files;

/// Nodes to contact, and the login.
#[derive(Clone, Debug)]
pub struct Connect {
    /// Form in which the client sends statements.
    pub style: Style,
    /// User name for the login.
    pub user: Option<String>,
    /// The password, which is never shown.
    pub password: Option<Secret>,
    /// Compression of CQL frames.
    pub compression: Option<Compression>,
    /// Number of connections to each node. `None` if the command line does not state it.
    pub connections_per_node: Option<u32>,
    /// The nodes, each as `host` or `host:port`. An empty list means the machine that runs cassay.
    pub nodes: Vec<String>,
    /// File that names the nodes, one per line.
    pub nodes_file: Option<(String, Place)>,
    /// Data center of the nodes that the client contacts. The client does not contact nodes of
    /// other data centers.
    pub datacenter: Option<String>,
    /// CQL port of the nodes. `None` if the command line does not state it.
    pub port: Option<u16>,
    /// True if connections are encrypted.
    pub tls: bool,
    /// Properties file with the user name and the password.
    pub credentials_file: Option<(String, Place)>,
}

/// Form in which the client sends statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The client prepares each statement once.
    Prepared,
    /// The client sends each statement as text.
    Unprepared,
}

const ANY: u8 = 1;

pub(crate) const MODE: [KnownParam; 15] = [
    new("native", ANY, "", "The native protocol; always used"),
    new("cql3", ANY, "", "CQL 3; always used"),
    new(
        "simplenative",
        ANY,
        "",
        "The tool's own client; without effect",
    ),
    new("prepared", ANY, "", "Prepared statements; the default"),
    new(
        "unprepared",
        ANY,
        "",
        "Send the text of a statement with each request",
    ),
    new("user=", ANY, "", "User name"),
    new("password=", ANY, "", "Password"),
    new(
        "compression=",
        ANY,
        "none",
        "Compression of frames: none, lz4 or snappy",
    ),
    new("connectionsPerHost=", ANY, "8", "Connections to each node"),
    new(
        "maxPending=",
        ANY,
        "128",
        "Requests in flight per connection; without effect",
    ),
    new(
        "protocolVersion=",
        ANY,
        "NEWEST_SUPPORTED",
        "Protocol version; without effect",
    ),
    new("auth-provider=", ANY, "", "Java class of an authenticator"),
    new(
        "port=",
        ANY,
        "",
        "Without effect, as in the tool: use -port native=",
    ),
    new(
        "requestTimeout=",
        ANY,
        "12000",
        "Timeout of a request in ms; without effect",
    ),
    new("4x", ANY, "", "Version 4 of the driver; without effect"),
];

pub(crate) const NODE: [KnownParam; 6] = [
    new("whitelist", ANY, "", "Contact only the listed nodes"),
    new("file=", ANY, "", "File with one node per line"),
    new(
        "datacenter=",
        ANY,
        "",
        "Contact only nodes of this data center",
    ),
    new("rack=", ANY, "", "Without effect"),
    new("loadbalance=", ANY, "", "Without effect"),
    new("remote-dc=", ANY, "", "Without effect"),
];

pub(crate) const PORT: [KnownParam; 3] = [
    new("native=", ANY, "9042", "CQL port"),
    new("thrift=", ANY, "9160", "Without effect"),
    new(
        "jmx=",
        ANY,
        "7199",
        "Without effect: cassay connects to nodes itself",
    ),
];

pub(crate) const TRANSPORT: [KnownParam; 10] = [
    new(
        "factory=",
        ANY,
        "",
        "Without effect: only Thrift supported it",
    ),
    new(
        "truststore=",
        ANY,
        "",
        "Java key store of trusted certificates",
    ),
    new("truststore-password=", ANY, "", "Its password"),
    new(
        "keystore=",
        ANY,
        "",
        "Java key store of the client's certificate",
    ),
    new("keystore-password=", ANY, "", "Its password"),
    new("ssl-protocol=", ANY, "TLS", "Without effect"),
    new("ssl-alg=", ANY, "SunX509", "Without effect"),
    new("store-type=", ANY, "JKS", "Without effect"),
    new("ssl-ciphers=", ANY, "", "Without effect"),
    new("hostname-verification", ANY, "", "Without effect"),
];

pub(crate) const JMX: [KnownParam; 2] = [
    new("user=", ANY, "", "Without effect"),
    new("password=", ANY, "", "Without effect"),
];

/// Named parameters of `-credentials-file`. The option has none, because it takes only a path.
pub(crate) const CREDENTIALS: [KnownParam; 0] = [];

pub(crate) fn read(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Connect {
    let mode = params_or_none("-mode", groups, &MODE, d);
    let (nodes, nodes_file, datacenter) = nodes(groups, notes, d);
    // In the tool, one process opens all connections. In cassay, the connections are divided among
    // the workers.
    let connections = |text: &str| argument_values::number(text, (1, 1024)).map(|n| n as u32);
    Connect {
        style: style(&mode, notes, d),
        user: mode.text("user=").map(str::to_owned),
        password: mode.text("password=").map(Secret::new),
        compression: compression(&mode, d),
        connections_per_node: mode.value("connectionsPerHost=", d, connections),
        nodes,
        nodes_file,
        datacenter,
        port: port(groups, notes, d),
        tls: tls(groups, notes, d),
        credentials_file: credentials(groups, notes, d),
    }
}

fn style(mode: &Params, notes: &mut Vec<String>, d: &mut Diagnostics) -> Style {
    for form in [
        "simplenative",
        "maxPending=",
        "protocolVersion=",
        "requestTimeout=",
        "4x",
        "port=",
    ] {
        if mode.has(form) {
            let name = crate::stress::params::name(form);
            let instead = match form {
                "maxPending=" => "`-rate` sets the number of requests in flight",
                "protocolVersion=" => {
                    "cassay uses the newest version that both cassay and the server support"
                }
                "port=" => "the tool does not use this option either; write `-port native=`",
                "requestTimeout=" => "set a timeout with `--set`",
                _ => "cassay uses its own client",
            };
            notes.push(format!("`-mode {name}` has no effect: {instead}."));
        }
    }
    if let Some(class) = mode.text("auth-provider=")
        && !class.ends_with("PlainTextAuthProvider")
    {
        let message =
            format!("the authenticator `{class}` is a Java class, which cassay cannot run");
        let hint = "omit the authenticator: `user=` and `password=` set name and password";
        d.add(
            &mode.place_of("auth-provider="),
            message,
            Some(hint.to_owned()),
        );
    }
    if mode.has("user=") != mode.has("password=") {
        let given = if mode.has("user=") {
            "user="
        } else {
            "password="
        };
        let hint = Some("set both, or neither".to_owned());
        let message = "`user=` and `password=` belong together";
        d.add(&mode.place_of(given), message, hint);
    }
    match (mode.has("prepared"), mode.has("unprepared")) {
        (true, true) => {
            let message = "`prepared` and `unprepared` exclude each other";
            let hint = Some("remove one of the two options".to_owned());
            d.add(&mode.place_of("unprepared"), message, hint);
            Style::Prepared
        }
        (_, true) => Style::Unprepared,
        _ => Style::Prepared,
    }
}

fn compression(mode: &Params, d: &mut Diagnostics) -> Option<Compression> {
    let parse = |text: &str| match text.to_ascii_lowercase().as_str() {
        "none" => Ok(None),
        name => match Compression::parse(name) {
            None => Err(format!("`{text}` is not one of none, lz4, snappy")),
            spoken => Ok(spoken),
        },
    };
    mode.value("compression=", d, parse).flatten()
}

type Nodes = (Vec<String>, Option<(String, Place)>, Option<String>);

fn nodes(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Nodes {
    let Some((option, words)) = groups.take("-node") else {
        return (Vec::new(), None, None);
    };
    let node = Params::read("-node", option.place(), words, &NODE, true, d);
    if let Some((second, place)) = node.free.get(1) {
        let message = format!("`{second}` is a second list of nodes");
        let hint = "write one list with commas: 10.0.0.1,10.0.0.2".to_owned();
        d.add(place, message, Some(hint));
    }
    let listed: Vec<String> = node
        .free
        .first()
        .map(|(list, _)| list.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default();
    let file = node.text("file=").map(|file| (file.to_owned(), node.place_of("file=")));
    if file.is_some() && !listed.is_empty() {
        notes.push(
            "`-node file=` overrides the list of nodes next to it, as in the tool.".to_owned(),
        );
    }
    if node.has("whitelist") {
        let note = "`-node whitelist`: operations go to the listed nodes that own their rows.";
        notes.push(note.to_owned());
    }
    for form in ["rack=", "loadbalance=", "remote-dc="] {
        if node.has(form) {
            notes.push(format!("`-node {form}` has no effect."));
        }
    }
    (listed, file, node.text("datacenter=").map(str::to_owned))
}

fn port(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Option<u16> {
    let port = params_or_none("-port", groups, &PORT, d);
    let parse =
        |text: &str| argument_values::number(text, (1, u64::from(u16::MAX))).map(|n| n as u16);
    for form in ["thrift=", "jmx="] {
        if port.value(form, d, parse).is_some() {
            notes.push(format!(
                "`-port {form}` has no effect: cassay does not use that protocol."
            ));
        }
    }
    port.value("native=", d, parse)
}

fn tls(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> bool {
    let Some(transport) = params("-transport", groups, &TRANSPORT, d) else {
        return false;
    };
    for known in TRANSPORT {
        let store = known.form.starts_with("truststore") || known.form.starts_with("keystore");
        if transport.has(known.form) && !store {
            notes.push(format!("`-transport {}` has no effect.", known.form));
        }
    }
    let tls = transport.has("truststore=") || transport.has("keystore=");
    let passwords = ["truststore-password=", "keystore-password="];
    if !tls && passwords.iter().any(|form| transport.has(form)) {
        let note = "`-transport`: a password without its store has no effect.";
        notes.push(note.to_owned());
    }
    if let Some(file) = transport.text("truststore=") {
        let note = tls_files::java_truststore(file);
        notes.push(format!("`-transport truststore={file}`: {note}."));
    }
    if let Some(file) = transport.text("keystore=") {
        let note = tls_files::java_keystore(file);
        notes.push(format!("`-transport keystore={file}`: {note}."));
    }
    tls
}

fn credentials(
    groups: &mut Groups,
    notes: &mut Vec<String>,
    d: &mut Diagnostics,
) -> Option<(String, Place)> {
    if params("-jmx", groups, &JMX, d).is_some() {
        notes.push("`-jmx` has no effect: cassay does not use that protocol.".to_owned());
    }
    let (option, words) = groups.take("-credentials-file")?;
    let name = "-credentials-file";
    let params = Params::read(name, option.place(), words, &CREDENTIALS, true, d);
    if params.free.len() != 1 && params.free.len() == words.len() {
        let message = format!("`{name}` needs one path, but has {}", params.free.len());
        d.add(
            &option.place(),
            message,
            Some(format!("write {name} credentials.properties")),
        );
    }
    params.free.into_iter().next()
}
