//! Target of a study of `cassay new`, and the parts of the text that depend on this target.

/// Target of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetChoice {
    /// The null target, which is a server inside cassay.
    Null,
    /// A cluster on this machine.
    Local,
    /// A cluster at this address.
    Attach(String),
}

impl TargetChoice {
    /// Parses a target from the command line.
    ///
    /// # Errors
    /// The text is neither `null` nor `local` nor `attach:` with an address.
    pub fn parse(text: &str) -> Result<TargetChoice, String> {
        let address = text.strip_prefix("attach:").or(text.strip_prefix("attach ")).map(str::trim);
        match (text, address) {
            ("null", _) => Ok(TargetChoice::Null),
            ("local", _) => Ok(TargetChoice::Local),
            (_, Some(address)) if is_address(address) => {
                Ok(TargetChoice::Attach(address.to_owned()))
            }
            _ => Err("write null, local or attach:HOST[:PORT]".to_owned()),
        }
    }

    /// Returns the name by which lines of templates refer to the target.
    pub fn word(&self) -> &'static str {
        match self {
            TargetChoice::Null => "null",
            TargetChoice::Local => "local",
            TargetChoice::Attach(_) => "attach",
        }
    }

    /// Returns the target section of a study with this name.
    pub fn section(&self, name: &str) -> String {
        match self {
            TargetChoice::Null if name == "fault" => {
                "# A server inside cassay. It deliberately stops \
                 answering for 2 s of every 40 s.
# With `--target local`, cassay \
                 injects a fault into real nodes instead.
target: {null: {latency: 200us, stall: {every: 40s, length: 2s}}}
"
                .to_owned()
            }
            TargetChoice::Null => "# A server inside cassay that answers immediately. It measures \
                 cassay itself, so that you can try
# the study without a cluster. `--target \
                 local` and `--target attach:HOST` run the study on Cassandra.
target: {null: {}}
"
            .to_owned(),
            TargetChoice::Local => format!(
                "\
# Real Cassandra on this machine, started and stopped by cassay.
target:
  local:
    nodes: {}
    heap: 1GiB
",
                if name == "fault" { 3 } else { 1 }
            ),
            TargetChoice::Attach(address) => format!(
                "# Your cluster. cassay starts no nodes, and changes only the objects that \
                 --allow names.
target:
  attach:
    contact_points: ['{address}']
    # user: cassay
    \
                 # password: {{secret: db}}   # and, on the command line: --secret db=file:PATH
    \
                 # datacenter: dc1            # use only the nodes of this data center
"
            ),
        }
    }

    /// Returns the keyspace section of a study with this name. On an attached cluster, the study
    /// gets a separate keyspace.
    pub fn keyspace(&self, name: &str) -> String {
        match self {
            TargetChoice::Null => String::new(),
            TargetChoice::Local if name == "fault" => "keyspace: {replication: 3}\n".to_owned(),
            TargetChoice::Local => "keyspace: {replication: 1}\n".to_owned(),
            TargetChoice::Attach(_) => format!(
                "# A separate keyspace. Set the replication of your tables, for example \
                 replication: {{dc1: 3}}.
keyspace: {{name: {}, replication: 1}}
",
                keyspace_name(name)
            ),
        }
    }
}

/// Returns the name of the keyspace that a study creates on an attached cluster.
pub fn keyspace_name(study: &str) -> String {
    format!("cassay_{}", study.replace('-', "_"))
}

/// Returns true if the text can be quoted in YAML. The check of the study finds other mistakes in
/// the text.
fn is_address(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_[]".contains(c))
}
