//! Answers one connection: reads the request, checks the access, and writes the response or the
//! events.

use crate::access::{Decision, TOKEN_PARAMETER};
use crate::http::{self, Refusal, Request, Response};
use crate::responses::{message, redirect};
use crate::routes::{self, Answer};
use crate::site::{Count, Site};
use crate::watcher::{Snapshot, Watcher};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Maximum number of connections that receive events, so that pages remain available.
const STREAMS_MAX: usize = 48;
/// Time without an update after which the server sends a comment, to detect readers that have gone.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Pause of a browser before it connects again, as the first line of the events, in ms.
const RETRY_MS: u32 = 2000;

/// Answers the request of a connection.
pub(crate) fn serve(mut stream: TcpStream, site: &Site) {
    // The listener does not block, and a system may pass this on to its connections.
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let request = match http::read_request(&mut stream) {
        Ok(request) => request,
        Err(refusal) => return refuse_request(&mut stream, refusal, site),
    };
    let answer = match site.access.decide(&request) {
        Decision::Allowed => routes::answer(&request, site),
        Decision::KeepToken(cookie) => Answer::Response(without_token(&request, &cookie)),
        Decision::Unknown => Answer::Response(message(
            401,
            "A token is needed",
            "This server needs a token. Open the address that `cassay serve` printed, or send the \
             token in the header `Authorization: Bearer TOKEN`.",
        )),
        Decision::OtherHost => Answer::Response(message(
            421,
            "Another host",
            "This server answers only requests for localhost and loopback addresses. For other \
             names, start it with `--listen ADDRESS:PORT`.",
        )),
    };
    match answer {
        Answer::Response(response) => {
            http::write_response(&mut stream, &response, request.is_head, &site.version);
        }
        Answer::Events(watcher) => events(&mut stream, &request, &watcher, site),
    }
}

/// Tells a reader that the server has too many connections.
pub(crate) fn refuse(stream: &mut TcpStream, site: &Site) {
    let said = "This server has too many readers. Close some of its pages, and try again.\n";
    let head = http::head(503, "text/plain; charset=utf-8", None, &site.version);
    let text = format!(
        "{head}Retry-After: 5\r\nContent-Length: {}\r\n\r\n{said}",
        said.len()
    );
    // The text fits into the buffer of a new connection, so the write does not wait.
    let _ = http::write_piece(stream, text.as_bytes());
}

fn refuse_request(stream: &mut TcpStream, refusal: Refusal, site: &Site) {
    let (status, title, text) = match refusal {
        Refusal::Closed => return,
        Refusal::Malformed => (
            400,
            "A malformed request",
            "The server cannot read the request.",
        ),
        Refusal::Slow => (408, "A slow request", "The request did not arrive in time."),
        Refusal::TooLarge => (431, "A large request", "The request has more than 16 KB."),
        Refusal::Method => (
            405,
            "Read only",
            "This server only shows runs. It accepts the methods GET and HEAD.",
        ),
    };
    let mut response = message(status, title, text);
    if refusal == Refusal::Method {
        response.headers.push("Allow: GET, HEAD".to_owned());
    }
    http::write_response(stream, &response, false, &site.version);
}

/// Returns a redirection to the same address without the token, which keeps the token out of the
/// history of the browser.
fn without_token(request: &Request, cookie: &str) -> Response {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let path: Vec<String> = request.path.iter().map(|part| encoded(part)).collect();
    let others = request.parameters.iter().filter(|(name, _)| name != TOKEN_PARAMETER);
    let query: Vec<String> = others
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let to = format!("/{}{mark}{}", path.join("/"), query.join("&"));
    let mut response = redirect(&to);
    response.headers.push(format!("Set-Cookie: {cookie}"));
    response
}

/// Sends the updates of a run until it ends or the reader has gone.
fn events(stream: &mut TcpStream, request: &Request, watcher: &Arc<Watcher>, site: &Site) {
    let Some(_count) = Count::below(&site.streams, STREAMS_MAX) else {
        return refuse(stream, site);
    };
    let head = http::head(200, "text/event-stream; charset=utf-8", None, &site.version);
    let head = format!("{head}\r\nretry: {RETRY_MS}\n\n");
    if http::write_piece(stream, head.as_bytes()).is_err() || request.is_head {
        return http::close(stream);
    }
    let _reader = watcher.add_reader();
    // A reader that connects again already has the update with this identifier.
    let mut last = request.last_event_id.clone().unwrap_or_default();
    let mut sent: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let text = match watcher.newer_than(&last, HEARTBEAT) {
            None if site.is_over.load(Ordering::Relaxed) => return,
            None => ": the run has not changed\n\n".to_owned(),
            Some(snapshot) => {
                last.clone_from(&snapshot.id);
                update(&snapshot, &mut sent)
            }
        };
        if http::write_piece(stream, text.as_bytes()).is_err() {
            return;
        }
        if watcher.is_over() {
            let _ = http::write_piece(stream, b"event: over\ndata: {}\n\n");
            return http::close(stream);
        }
    }
}

/// Formats the parts of a page that changed since the last update of this reader. The text of a
/// part that no longer exists is empty.
fn update(snapshot: &Snapshot, sent: &mut BTreeMap<String, String>) -> String {
    let mut changed = serde_json::Map::new();
    for (id, html) in &snapshot.parts {
        if sent.get(id) != Some(html) {
            changed.insert(id.clone(), html.clone().into());
            sent.insert(id.clone(), html.clone());
        }
    }
    let is_gone = |id: &String| !snapshot.parts.iter().any(|(other, _)| other == id);
    let gone: Vec<String> = sent.keys().filter(|id| is_gone(id)).cloned().collect();
    for id in gone {
        sent.remove(&id);
        changed.insert(id, "".into());
    }
    // JSON has no line breaks within strings, so the data is one line.
    let data = serde_json::Value::Object(changed);
    format!("id: {}\nevent: update\ndata: {data}\n\n", snapshot.id)
}
