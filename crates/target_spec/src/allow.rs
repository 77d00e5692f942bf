//! Permissions to change a cluster that cassay did not start. Users grant them on the command line.

use std::collections::BTreeSet;
use std::fmt;

/// Action on existing data or schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Create a keyspace, or create a table, type, index or view in a keyspace.
    Create,
    /// Write, overwrite or delete rows.
    Write,
    /// Change the options or columns of existing schema objects.
    Alter,
    /// Remove all rows of a table.
    Truncate,
    /// Remove a keyspace or an object in a keyspace.
    Drop,
}

impl Act {
    /// All actions on data and schema.
    pub const ALL: [Act; 5] = [
        Act::Create,
        Act::Write,
        Act::Alter,
        Act::Truncate,
        Act::Drop,
    ];

    /// Returns the word for the action on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Act::Create => "create",
            Act::Write => "write",
            Act::Alter => "alter",
            Act::Truncate => "truncate",
            Act::Drop => "drop",
        }
    }
}

/// A keyspace, or an object in a keyspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Name of the keyspace, as the server stores it.
    pub keyspace: String,
    /// Name of the table, type or view. `None` means the whole keyspace.
    pub name: Option<String>,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            None => f.write_str(&self.keyspace),
            Some(name) => write!(f, "{}.{name}", self.keyspace),
        }
    }
}

measure::word_enum! {
    /// Action on the nodes of a cluster.
    #[derive(PartialOrd, Ord)]
    pub enum NodeAct {
        /// Stop a node properly, and start it again.
        Restart = "restart",
        /// Pause or kill the process of a node by a signal.
        Signal = "signal",
        /// Drop packets of a node, or reset its connections, on the machine of the node.
        Network = "network",
        /// Delete and evict pods of nodes, and cordon the machines on which the pods run.
        Pods = "pods",
    }
}

/// Permissions from the command line, such as `--allow write=shop.users,drop=scratch,restart`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    objects: BTreeSet<(Act, Object)>,
    nodes: BTreeSet<NodeAct>,
}

impl Allow {
    /// Parses `ACT=KEYSPACE[.TABLE],…`. For an action on nodes, the text contains no keyspace.
    ///
    /// # Errors
    /// A part of the text does not have this form. The error describes the valid forms.
    pub fn parse(text: &str) -> Result<Allow, String> {
        let form = "write ACT=KEYSPACE or ACT=KEYSPACE.TABLE, separated by commas. ACT is create, \
                    write, alter, truncate or drop. For nodes, write restart, signal, network or \
                    pods";
        let mut all = Allow::default();
        for part in text.split(',') {
            let of_nodes = NodeAct::ALL.into_iter().find(|act| act.name() == part.trim());
            if let Some(act) = of_nodes {
                all.nodes.insert(act);
                continue;
            }
            let (word, object) = part.split_once('=').ok_or(form)?;
            let act = Act::ALL
                .into_iter()
                .find(|act| act.word() == word.trim())
                .ok_or_else(|| format!("\"{word}\" is not an action: {form}"))?;
            let (keyspace, name) = match object.trim().split_once('.') {
                Some((keyspace, name)) => (keyspace, Some(name)),
                None => (object.trim(), None),
            };
            let is_name = |text: &str| {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                !text.is_empty() && text.chars().all(is_part)
            };
            if !is_name(keyspace) || !name.is_none_or(is_name) {
                return Err(format!("\"{object}\" is not a keyspace or table: {form}"));
            }
            all.objects.insert((
                act,
                Object {
                    keyspace: keyspace.to_owned(),
                    name: name.map(str::to_owned),
                },
            ));
        }
        Ok(all)
    }

    /// Returns true if the user granted no permissions.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.nodes.is_empty()
    }

    /// Adds the permissions in `other`.
    pub fn join(&mut self, other: Allow) {
        self.objects.extend(other.objects);
        self.nodes.extend(other.nodes);
    }

    /// Returns true if the permissions allow the action on the object, or on the object's keyspace.
    pub fn names(&self, act: Act, object: &Object) -> bool {
        let whole = Object {
            name: None,
            ..object.clone()
        };
        let has = |object| self.objects.contains(&(act, object));
        has(object.clone()) || has(whole)
    }

    /// Returns true if the permissions allow the action on nodes.
    pub fn names_of_nodes(&self, act: NodeAct) -> bool {
        self.nodes.contains(&act)
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.objects.iter().map(|(act, object)| format!("{}={object}", act.word()));
        let nodes = self.nodes.iter().map(|act| act.name().to_owned());
        let all: Vec<String> = objects.chain(nodes).collect();
        f.write_str(&all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_keyspace_includes_its_contents_and_nothing_else() {
        let allow = Allow::parse("write=shop.users,create=lab,drop=lab").expect("as written");
        let object = |keyspace: &str, name: Option<&str>| Object {
            keyspace: keyspace.to_owned(),
            name: name.map(str::to_owned),
        };
        assert!(allow.names(Act::Write, &object("shop", Some("users"))));
        assert!(!allow.names(Act::Write, &object("shop", Some("orders"))));
        assert!(!allow.names(Act::Drop, &object("shop", Some("users"))));
        assert!(allow.names(Act::Create, &object("lab", None)));
        assert!(allow.names(Act::Create, &object("lab", Some("t"))));
        let nodes = Allow::parse("write=shop,restart").expect("as written");
        assert!(nodes.names_of_nodes(NodeAct::Restart) && !nodes.names_of_nodes(NodeAct::Signal));
        assert_eq!(nodes.to_string(), "write=shop,restart");
        assert!(!Allow::parse("signal").expect("as written").is_empty());
        for wrong in [
            "",
            "restart=db1",
            "write",
            "write=",
            "write=*",
            "eat=shop",
            "drop=a.b.c",
            "drop=a b",
        ] {
            let why = Allow::parse(wrong).expect_err(wrong);
            assert!(why.contains("ACT=KEYSPACE"), "{why}");
        }
    }
}
