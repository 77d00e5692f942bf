//! Builds the responses of a server.

use crate::http::Response;
use crate::page_cache::PageBytes;
use report::Document;
use std::sync::Arc;

pub(crate) const HTML: &str = "text/html; charset=utf-8";

pub(crate) fn redirect(to: &str) -> Response {
    let mut response = response(303, HTML, "");
    response.headers.push(format!("Location: {to}"));
    response
}

/// Returns a page with a message.
pub(crate) fn message(status: u16, title: &str, text: &str) -> Response {
    document(status, report::message_page(title, text))
}

pub(crate) fn response(status: u16, content_type: &'static str, body: &str) -> Response {
    Response {
        status,
        content_type,
        policy: None,
        headers: Vec::new(),
        body: body.as_bytes().into(),
    }
}

/// Returns a page.
pub(crate) fn document(status: u16, document: Document) -> Response {
    Response {
        status,
        content_type: HTML,
        policy: Some(document.policy),
        headers: Vec::new(),
        body: document.html.into_bytes().into(),
    }
}

/// Returns a page of the cache.
pub(crate) fn page_response(page: &PageBytes) -> Response {
    Response {
        status: 200,
        content_type: HTML,
        policy: Some(page.policy.clone()),
        headers: Vec::new(),
        body: Arc::clone(&page.html),
    }
}
