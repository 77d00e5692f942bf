//! Repository with a few small files on loopback, for tests. It can imitate failures of real
//! servers and proxies.

use crate::lock::PinnedFile;
use crate::repository::Repository;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Behaviour of the server for a requested file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseBehaviour {
    /// Sends the correct response, including ranges.
    Well,
    /// Ignores ranges, and always sends the whole file.
    Whole,
    /// Sends half of the requested bytes, then ends the connection.
    Halves,
    /// Ends the connection after the HTTP headers.
    Nothing,
    /// Sends a page of HTML.
    Page,
    /// Sends only this HTTP status.
    Status(u16),
    /// Sends the correct number of bytes with other content.
    Other,
    /// Sends more bytes than requested.
    More,
}

pub(crate) fn pinned(name: &str, text: &str) -> PinnedFile {
    PinnedFile {
        name: name.to_string(),
        sha256: HEXLOWER.encode(&Sha256::digest(text)),
        bytes: text.len() as u64,
        path: format!("g/{name}"),
        member: None,
    }
}

pub(crate) struct RunningRepository {
    pub address: String,
    /// Received requests, each with the path and the first byte of the range.
    pub asked: Arc<Mutex<Vec<(String, u64)>>>,
}

impl RunningRepository {
    /// Serves these files until the test ends. Each file has a name, a text and a behaviour.
    pub fn start(files: &[(&str, &str, ResponseBehaviour)]) -> RunningRepository {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/maven", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let files: Vec<(String, String, ResponseBehaviour)> = files
            .iter()
            .map(|(name, text, way)| (format!("/maven/g/{name}"), (*text).to_string(), *way))
            .collect();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (files, seen) = (files.clone(), Arc::clone(&seen));
                std::thread::spawn(move || answer(stream, &files, &seen));
            }
        });
        RunningRepository { address, asked }
    }

    pub fn repository(&self) -> Repository {
        Repository::through(&self.address, None).unwrap()
    }
}

/// Answers one request, and ends the connection.
fn answer(
    mut stream: TcpStream,
    files: &[(String, String, ResponseBehaviour)],
    seen: &Mutex<Vec<(String, u64)>>,
) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_string();
    let mut from = 0;
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let line = line.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().ok()?;
        }
    }
    seen.lock().ok()?.push((path.clone(), from));
    let found = files.iter().find(|(name, ..)| *name == path);
    let (text, way) = found.map_or(("", ResponseBehaviour::Status(404)), |(_, text, way)| {
        (text.as_str(), *way)
    });
    let from = from.min(text.len() as u64) as usize;
    let (status, kind, body) = match way {
        ResponseBehaviour::Well | ResponseBehaviour::Halves | ResponseBehaviour::Nothing
            if from > 0 =>
        {
            (206, "java-archive", &text[from..])
        }
        ResponseBehaviour::Well
        | ResponseBehaviour::Halves
        | ResponseBehaviour::Nothing
        | ResponseBehaviour::Whole => (200, "java-archive", text),
        ResponseBehaviour::Page => (200, "html", "<html>Please log in"),
        ResponseBehaviour::Status(status) => (status, "html", "<html>No"),
        ResponseBehaviour::Other => (200, "java-archive", text),
        ResponseBehaviour::More => (200, "java-archive", text),
    };
    let body = match way {
        ResponseBehaviour::Other => body.to_uppercase(),
        ResponseBehaviour::More => format!("{body}!"),
        _ => body.to_string(),
    };
    let range = match status {
        206 => format!(
            "content-range: bytes {from}-{}/{}\r\n",
            text.len() - 1,
            text.len()
        ),
        _ => String::new(),
    };
    let kind = if kind == "html" {
        "text/html"
    } else {
        "application/java-archive"
    };
    let head = format!(
        "HTTP/1.1 {status} Message\r\ncontent-type: {kind}\r\n{range}content-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let sent = match way {
        ResponseBehaviour::Halves => body.len().div_ceil(2),
        ResponseBehaviour::Nothing => 0,
        _ => body.len(),
    };
    stream.write_all(&body.as_bytes()[..sent]).ok()
}
