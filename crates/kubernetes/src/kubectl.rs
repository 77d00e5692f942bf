//! Access to one namespace of a cluster by the user's own `kubectl`, with its configuration,
//! contexts and credential plugins. Invariants: each wait has a time limit. cassay sends objects
//! through a pipe, so that their content does not appear in a list of processes.

use anyhow::{Context, Result, anyhow, ensure};
use remote::is_context_name;
use remote::process::{self, Late, Life, Patience};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use target_spec::is_kubernetes_name;

/// Time limit of a command. A credential plugin may first log in.
const LIMIT: Duration = Duration::from_secs(60);

/// File within a pod that contains the pod's namespace.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The program `kubectl`, with the context and the namespace of its commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubectl {
    program: PathBuf,
    /// `None` means the current context.
    context: Option<String>,
    /// `None` means the context's namespace.
    namespace: Option<String>,
}

/// Selection of objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Objects with these labels, such as `app=db`.
    Labels(String),
    Name(String),
}

impl Selector {
    fn option(&self) -> String {
        match self {
            Selector::Labels(labels) => format!("--selector={labels}"),
            Selector::Name(name) => format!("--field-selector=metadata.name={name}"),
        }
    }
}

impl Kubectl {
    /// # Errors
    /// The context or the namespace is not a valid name.
    pub fn new(context: Option<&str>, namespace: Option<&str>) -> Result<Kubectl> {
        ensure!(
            context.is_none_or(is_context_name),
            "{context:?} is not a context of kubectl: see `kubectl config get-contexts`"
        );
        ensure!(
            namespace.is_none_or(is_kubernetes_name),
            "{namespace:?} is not the name of a namespace: use only lower-case letters, digits and \
             `-`"
        );
        Ok(Kubectl {
            program: "kubectl".into(),
            context: context.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
        })
    }

    /// Replaces the `kubectl` in the search path by `program`.
    #[must_use]
    pub fn by_program(self, program: &Path) -> Kubectl {
        Kubectl {
            program: program.to_owned(),
            ..self
        }
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns a value for another namespace of the same context.
    ///
    /// # Errors
    /// The namespace is not a valid name.
    pub fn within(&self, namespace: &str) -> Result<Kubectl> {
        let there = Kubectl::new(self.context(), Some(namespace))?;
        Ok(there.by_program(&self.program))
    }

    /// Returns the context, if one was given.
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the namespace, if one was given.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the given namespace, or that of the context. Within a cluster, the default is the
    /// pod's namespace.
    ///
    /// # Errors
    /// The context does not exist.
    pub fn namespace_or_default(&self) -> Result<String> {
        if let Some(namespace) = &self.namespace {
            return Ok(namespace.clone());
        }
        let how = ["config", "view", "--minify", "-o", "jsonpath={..namespace}"];
        let said = self.ask(&how, None).map(|said| said.trim().to_owned());
        match (said, std::fs::read_to_string(POD_NAMESPACE)) {
            (Ok(said), _) if !said.is_empty() => Ok(said),
            (_, Ok(own)) if self.context.is_none() => Ok(own.trim().to_owned()),
            (Ok(_), _) => Ok("default".to_owned()),
            (Err(error), _) => Err(error),
        }
    }

    /// Returns the beginning of a command for the user, such as `kubectl --context lab -n db`.
    pub fn words(&self) -> String {
        let context = self.context.iter().map(|name| format!(" --context {name}"));
        let namespace = self.namespace.iter().map(|name| format!(" -n {name}"));
        context.chain(namespace).fold("kubectl".to_owned(), |words, more| words + &more)
    }

    /// Creates an object. Returns the object as the API server has created it.
    ///
    /// # Errors
    /// The API server refuses the object. The message contains the server's text.
    pub fn create(&self, object: &Value) -> Result<Value> {
        json(&self.ask(&["create", "-f", "-", "-o", "json"], Some(object))?)
    }

    /// # Errors
    /// The object does not exist, or the user may not read it.
    pub fn get(&self, kind: &str, name: &str) -> Result<Value> {
        json(&self.ask(&["get", kind, name, "-o", "json"], None)?)
    }

    /// Lists all objects of a kind with the labels of `selector`.
    ///
    /// # Errors
    /// The user may not read these objects.
    pub fn list(&self, kind: &str, selector: &str) -> Result<Vec<Value>> {
        let said = self.ask(&["get", kind, "-l", selector, "-o", "json"], None)?;
        match json(&said)?["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Err(anyhow!("kubectl did not return a list of {kind}")),
        }
    }

    /// # Errors
    /// The API server refuses the change. The message contains the server's text.
    pub fn patch(&self, kind: &str, name: &str, fields: &Value) -> Result<()> {
        let fields = fields.to_string();
        self.ask(&["patch", kind, name, "--type=merge", "-p", &fields], None).map(drop)
    }

    /// Deletes an object and all objects that it owns, if it exists. Does not wait for the end of
    /// the deletion.
    ///
    /// # Errors
    /// The API server refuses the deletion. The message contains the server's text.
    pub fn delete(&self, kind: &str, name: &str) -> Result<()> {
        let how = ["--cascade=foreground", "--wait=false", "--ignore-not-found"];
        self.ask(&[&["delete", kind, name][..], &how].concat(), None).map(drop)
    }

    /// Starts a `kubectl` that prints each change of the selected objects of a kind as JSON of the
    /// form `{type, object}`.
    pub(crate) fn watch(&self, kind: &str, selector: &Selector) -> Result<Child> {
        let how = ["-o", "json", "--watch", "--output-watch-events"];
        let selector = selector.option();
        self.read_from(&[&["get", kind, &selector][..], &how].concat())
    }

    /// Starts a `kubectl` that prints the output of a pod's only container so far, and then follows
    /// it.
    pub(crate) fn follow_logs(&self, pod: &str) -> Result<Child> {
        self.read_from(&["logs", "--follow", pod])
    }

    /// Starts a `kubectl` whose output can be read as it is written.
    pub(crate) fn read_from(&self, arguments: &[&str]) -> Result<Child> {
        let mut command = self.command();
        command.args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        spawned(command)
    }

    fn command(&self) -> Command {
        let mut command = process::command(&self.program);
        command.args(self.place());
        command
    }

    fn place(&self) -> impl Iterator<Item = &str> {
        let context = self.context.iter().flat_map(|name| ["--context", name]);
        context.chain(self.namespace.iter().flat_map(|name| ["--namespace", name]))
    }

    /// Returns the command line of a `kubectl` command for another program.
    pub(crate) fn program_words(&self, arguments: &[&str]) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        let rest = self.place().chain(arguments.iter().copied()).map(str::to_owned);
        [program].into_iter().chain(rest).collect()
    }

    /// Runs a command with `object` as its input, and returns its output.
    pub(crate) fn ask(&self, arguments: &[&str], object: Option<&Value>) -> Result<String> {
        let mut command = self.command();
        command.args(arguments);
        let text = object.map(Value::to_string).unwrap_or_default();
        // Ctrl-C does not end the command, because created objects must still be removed.
        let patience = Patience {
            limit: LIMIT,
            heeds_interrupt: false,
        };
        let answer = process::ask(command, text.as_bytes(), patience).map_err(|error| {
            let hint = match error.downcast_ref::<Late>() {
                Some(_) => "hint: try `kubectl get --raw /readyz`",
                None => INSTALL_HINT,
            };
            anyhow!("kubectl {}: {error:#}\n{hint}", arguments[0])
        })?;
        let why = String::from_utf8_lossy(&answer.errors);
        ensure!(
            answer.status.success(),
            "{}",
            explained(why.trim(), arguments)
        );
        String::from_utf8(answer.output).context("read the output of kubectl")
    }
}

/// Explains an error of `kubectl`, with a remedy.
fn explained(why: &str, arguments: &[&str]) -> String {
    let why = why.strip_prefix("error: ").unwrap_or(why);
    let why = why.strip_prefix("Error from server ").unwrap_or(why);
    let hint = match why {
        _ if why.contains("(Forbidden)") => {
            "\nhint: `cassay kubernetes rbac` prints the required role"
        }
        _ if [
            "cannot locate context",
            "context was not found",
            "does not exist",
        ]
        .iter()
        .any(|words| why.contains(words)) =>
        {
            "\nhint: see `kubectl config get-contexts`"
        }
        _ if why.contains("connect to the server") || why.contains("connection to the server") => {
            "\nhint: check that the API server answers: `kubectl cluster-info`"
        }
        _ if why.contains("must be logged in") => {
            "\nhint: log in as the cluster's provider requires; then `kubectl auth whoami` must \
             succeed"
        }
        "" => return format!("kubectl {} failed without output", arguments.join(" ")),
        _ => "",
    };
    format!("kubectl: {why}{hint}")
}

const INSTALL_HINT: &str = "hint: cassay reaches Kubernetes with kubectl; install a kubectl whose \
                            version is close to that of the cluster";

fn spawned(command: Command) -> Result<Child> {
    process::spawn(command, Life::Ours).map_err(|error| anyhow!("{error:#}\n{INSTALL_HINT}"))
}

pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).context("kubectl did not return JSON")
}
