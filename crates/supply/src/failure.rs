//! Reasons why a file could not be fetched. Each has an error message and a hint.

use std::io::ErrorKind;
use std::path::PathBuf;

/// A reason why a file could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "cassay cannot reach {url}: {why}\nhint: check the network. HTTPS_PROXY names a proxy, \
         SSL_CERT_FILE a company's own certificates, CASSAY_MAVEN_REPOSITORY a mirror. Without a \
         network, `cassay supply import FILE` reads the output of `cassay supply export FILE` on \
         another machine"
    )]
    Unreachable { url: String, why: String },
    #[error(
        "access to {url} is not permitted (HTTP {status})\nhint: if a user is required, write \
         https://USER:PASSWORD@HOST/… in CASSAY_MAVEN_REPOSITORY for the repository, or \
         http://USER:PASSWORD@HOST in HTTPS_PROXY for the proxy"
    )]
    Refused { url: String, status: u16 },
    #[error(
        "{url} does not exist (HTTP {status})\nhint: check that {repository} is the address of a \
         Maven repository with the content of Maven Central"
    )]
    NotThere {
        url: String,
        status: u16,
        repository: String,
    },
    #[error("{url} answered with HTTP {status}\nhint: try again later, or use a mirror")]
    Status { url: String, status: u16 },
    #[error(
        "{url} answered with an HTML page instead of a jar\nhint: a proxy or a login page answers \
         instead of the repository: open the address in a browser, or set HTTPS_PROXY"
    )]
    Page { url: String },
    #[error(
        "the download of {url} stopped after {got} of {wanted} bytes: {why}\nhint: run the same \
         command again to continue the download"
    )]
    BrokenOff {
        url: String,
        got: u64,
        wanted: u64,
        why: String,
    },
    #[error(
        "{name} from {url} is not the file of supply.lock: its SHA-256 is {got}, but the lock has \
         {expected}\nhint: try another repository; if it still differs, the download is not the \
         original"
    )]
    Changed {
        name: String,
        url: String,
        expected: String,
        got: String,
    },
    #[error(
        "{name} from {url} is not the file of supply.lock: it has {got} bytes, but the lock has \
         {expected}\nhint: try another repository; if it still differs, the download is not the \
         original"
    )]
    Resized {
        name: String,
        url: String,
        expected: u64,
        got: u64,
    },
    #[error("cassay cannot write {}: {error}\nhint: {}", path.display(), disk_hint(error))]
    Unwritten {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error(
        "interrupted: cassay keeps the received part, and the same command continues the download"
    )]
    Interrupted,
}

impl Failure {
    /// Returns true if another source may succeed, because the repository or the connection caused
    /// the error. Returns false for local errors, interruptions and modified files.
    pub fn is_of_the_way(&self) -> bool {
        match self {
            Failure::Unreachable { .. }
            | Failure::Refused { .. }
            | Failure::NotThere { .. }
            | Failure::Status { .. }
            | Failure::Page { .. }
            | Failure::BrokenOff { .. } => true,
            Failure::Changed { .. }
            | Failure::Resized { .. }
            | Failure::Unwritten { .. }
            | Failure::Interrupted => false,
        }
    }

    /// Returns the error for a failed write to a file.
    pub fn unwritten(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Failure {
        let path = path.into();
        move |error| Failure::Unwritten { path, error }
    }
}

fn disk_hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, or set CASSAY_CACHE to a folder on another disk; cassay keeps the \
             received part"
        }
        _ => "CASSAY_CACHE names another folder for the jars",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_so_and_that_nothing_is_lost() {
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let failure = Failure::unwritten("/cache/a.jar.part")(full);
        let text = failure.to_string();
        assert!(
            text.starts_with("cassay cannot write /cache/a.jar.part: "),
            "{text}"
        );
        assert!(
            text.contains("free some space") && text.contains("keeps the received part"),
            "{text}"
        );
        assert!(!failure.is_of_the_way());
    }
}
