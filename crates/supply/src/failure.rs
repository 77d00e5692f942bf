//! Reasons why a file could not be fetched, each with a message and a hint.

use std::io::ErrorKind;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(
        "cassay cannot reach {url}: {why}\nhint: check the network. Set HTTPS_PROXY to a proxy, \
         SSL_CERT_FILE to your company's certificates, or CASSAY_MAVEN_REPOSITORY to a mirror. \
         Without a network, run `cassay supply export FILE` on another machine, and `cassay supply \
         import FILE` here"
    )]
    Unreachable { url: String, why: String },
    #[error(
        "access to {url} is not permitted (HTTP {status})\nhint: if the repository requires a \
         login, set CASSAY_MAVEN_REPOSITORY to https://USER:PASSWORD@HOST/…; if the proxy requires \
         one, set HTTPS_PROXY to http://USER:PASSWORD@HOST"
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
        "{name} from {url} does not match supply.lock: its SHA-256 is {got}, but supply.lock lists \
         {expected}\nhint: try another repository; if the file still differs, the download is not \
         the original"
    )]
    Changed {
        name: String,
        url: String,
        expected: String,
        got: String,
    },
    #[error(
        "{name} from {url} does not match supply.lock: it has {got} bytes, but supply.lock lists \
         {expected}\nhint: try another repository; if the file still differs, the download is not \
         the original"
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
        "interrupted: cassay keeps the received part. To continue the download, run the same \
         command again"
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
        _ => "to store the jars in another folder, set CASSAY_CACHE",
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
