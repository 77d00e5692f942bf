//! Reads requests and writes responses of HTTP/1.1. Each connection has one request.
//!
//! Every read and every write has a time limit, so a slow reader occupies a connection only
//! briefly. `httparse` parses the head of a request.

use measure::clock::Deadline;
use percent_encoding::percent_decode_str;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Maximum size of the head of a request. A browser sends less than 4 KB.
const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Time in which the whole head must arrive.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time in which the reader must take each piece of a response.
const PIECE_TIME: Duration = Duration::from_secs(10);
/// Time in which the reader must take the whole response. A report of 10 MB needs this time at
/// 1 Mbit/s.
const RESPONSE_TIME: Duration = Duration::from_secs(80);
const PIECE_BYTES: usize = 64 << 10;
/// Time that the server waits for the reader to close the connection.
const CLOSE_TIME: Duration = Duration::from_millis(300);

/// Head of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub is_head: bool,
    /// Parts of the path, decoded.
    pub path: Vec<String>,
    /// Parameters of the address, decoded.
    pub parameters: Vec<(String, String)>,
    pub host: Option<String>,
    pub authorization: Option<String>,
    pub cookies: Vec<(String, String)>,
    pub last_event_id: Option<String>,
}

/// Reason why a request cannot be answered, as a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The reader closed the connection before it sent a request.
    Closed,
    Malformed,
    Slow,
    TooLarge,
    Method,
}

impl Request {
    /// Returns the first parameter with this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.parameters.iter().filter(|(key, _)| key == name);
        all.next().map(|(_, value)| value.as_str())
    }

    /// Returns all parameters with this name.
    pub(crate) fn all_parameters(&self, name: &str) -> Vec<String> {
        let all = self.parameters.iter().filter(|(key, _)| key == name);
        all.map(|(_, value)| value.clone()).collect()
    }
}

/// Reads the head of the request.
pub(crate) fn read_request(stream: &mut TcpStream) -> Result<Request, Refusal> {
    let deadline = Deadline::after(HEAD_TIME);
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = deadline.left();
        if left.is_zero() {
            return Err(Refusal::Slow);
        }
        if stream.set_read_timeout(Some(left)).is_err() {
            return Err(Refusal::Closed);
        }
        match stream.read(&mut piece) {
            Ok(0) => return Err(Refusal::Closed),
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Refusal::Slow);
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Err(Refusal::Closed),
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(Refusal::TooLarge);
        }
        if let Some(request) = parse(&bytes)? {
            return Ok(request);
        }
    }
}

/// Parses the head of a request. Returns `None` if the head is incomplete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::Malformed),
    }
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal::Method),
    };
    let target = parsed.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(Refusal::Malformed);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        is_head,
        path: parts(path)?,
        parameters: parameters(query)?,
        ..Request::default()
    };
    for header in parsed.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else {
            continue;
        };
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.host = Some(value.to_owned()),
            "authorization" => request.authorization = Some(value.to_owned()),
            "last-event-id" => request.last_event_id = Some(value.to_owned()),
            "cookie" => request.cookies.extend(value.split(';').filter_map(|cookie| {
                let (name, value) = cookie.trim().split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            })),
            _ => {}
        }
    }
    Ok(Some(request))
}

/// Splits a path into its parts. An empty part at the end is left out.
fn parts(path: &str) -> Result<Vec<String>, Refusal> {
    let inner = path.trim_start_matches('/').trim_end_matches('/');
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    inner.split('/').map(decode).collect()
}

fn parameters(query: &str) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        // A form encodes spaces as plus signs.
        Ok((
            decode(&name.replace('+', " "))?,
            decode(&value.replace('+', " "))?,
        ))
    };
    pairs.map(pair).collect()
}

fn decode(text: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| Refusal::Malformed)?;
    if decoded.contains(char::is_control) {
        return Err(Refusal::Malformed);
    }
    Ok(decoded.into_owned())
}

/// A response with a body.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub content_type: &'static str,
    /// Content security policy of a page. Other responses allow nothing.
    pub policy: Option<String>,
    /// Further headers, as lines without their ends.
    pub headers: Vec<String>,
    pub body: std::sync::Arc<[u8]>,
}

/// Returns the reason phrase of a status.
fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// Returns the status line and the headers of every response.
pub(crate) fn head(status: u16, content_type: &str, policy: Option<&str>, version: &str) -> String {
    let policy = policy.unwrap_or("default-src 'none'; base-uri 'none'; form-action 'none'");
    format!(
        "HTTP/1.1 {status} {}\r\nServer: cassay/{version}\r\nContent-Type: {content_type}\r\n\
         Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Security-Policy: {policy}; frame-ancestors 'none'\r\n",
        phrase(status)
    )
}

/// Writes a response, and closes the connection. Errors are ignored, because they mean that the
/// reader has gone or is too slow.
pub(crate) fn write_response(
    stream: &mut TcpStream,
    response: &Response,
    is_head: bool,
    version: &str,
) {
    let mut text = head(
        response.status,
        response.content_type,
        response.policy.as_deref(),
        version,
    );
    for header in &response.headers {
        text += header;
        text += "\r\n";
    }
    text += &format!("Content-Length: {}\r\n\r\n", response.body.len());
    let deadline = Deadline::after(RESPONSE_TIME);
    let body: &[u8] = if is_head { &[] } else { &response.body };
    let pieces = std::iter::once(text.as_bytes()).chain(body.chunks(PIECE_BYTES));
    for piece in pieces {
        if deadline.passed() || write_piece(stream, piece).is_err() {
            return;
        }
    }
    close(stream);
}

/// Writes one piece within the time limit.
pub(crate) fn write_piece(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PIECE_TIME))?;
    stream.write_all(piece)?;
    stream.flush()
}

/// Closes the connection. If the server closed a connection with unread bytes, the reader could
/// lose the response.
pub(crate) fn close(stream: &mut TcpStream) {
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let deadline = Deadline::after(CLOSE_TIME);
    let mut piece = [0; 4096];
    while !deadline.passed() && stream.set_read_timeout(Some(CLOSE_TIME)).is_ok() {
        if !matches!(stream.read(&mut piece), Ok(1..)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(target: &str) -> Result<Vec<String>, Refusal> {
        let text = format!("GET {target} HTTP/1.1\r\n\r\n");
        Ok(parse(text.as_bytes())?.expect("the head is complete").path)
    }

    #[test]
    fn a_path_is_decoded_part_by_part() {
        assert_eq!(path("/").unwrap(), Vec::<String>::new());
        assert_eq!(
            path("/run/gr%C3%B6%C3%9Fe/1/").unwrap(),
            ["run", "größe", "1"]
        );
        // A decoded separator stays within its part. The store refuses such a name.
        assert_eq!(path("/run/..%2F..%2Fetc").unwrap(), ["run", "../../etc"]);
        for target in ["/%00", "/a%0Ab", "/%ff", "http://a/", "*"] {
            assert_eq!(path(target), Err(Refusal::Malformed), "{target}");
        }
    }

    #[test]
    fn a_request_that_is_too_large_or_changes_something_is_refused() {
        for (text, refusal) in [
            ("POST / HTTP/1.1\r\n\r\n", Refusal::Method),
            ("DELETE / HTTP/1.1\r\n\r\n", Refusal::Method),
            ("GET /\u{1} HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("nonsense\r\n\r\n", Refusal::Malformed),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), refusal, "{text:?}");
        }
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "A: b\r\n".repeat(HEADERS_MAX + 1)
        );
        assert_eq!(parse(many.as_bytes()).unwrap_err(), Refusal::TooLarge);
        assert!(parse(b"GET / HTTP/1.1\r\nHost: a").unwrap().is_none());
    }

    #[test]
    fn parameters_of_a_form_are_decoded_and_may_repeat() {
        let text = "GET /compare?run=a%2F1&run=b%2F2&q=two+words&empty HTTP/1.1\r\n\r\n";
        let request = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.all_parameters("run"), ["a/1", "b/2"]);
        assert_eq!(request.parameter("q"), Some("two words"));
        assert_eq!(request.parameter("empty"), Some(""));
    }

    /// Random bytes and truncated heads must never cause a panic.
    #[test]
    fn no_bytes_make_the_parser_panic() {
        let head = b"GET /a?b=%zz HTTP/1.1\r\nCookie: =;a;b=c\r\nHost: \xff\r\n\r\n";
        for end in 0..head.len() {
            let _ = parse(&head[..end]);
            let mut changed = head.to_vec();
            changed[end] ^= 0x55;
            let _ = parse(&changed);
        }
    }
}
