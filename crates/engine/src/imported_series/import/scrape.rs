//! Scrapes an endpoint in Prometheus's text format during a run.
//!
//! The scraper contacts only the endpoint in the study. It does not follow redirects, and does not
//! use proxies from the environment. Time and length are limited, because the endpoint is an
//! external program.

use super::Filter;
use super::prometheus::{Exposition, SCRAPE_BYTES_MAX};
use anyhow::{Context, Result, ensure};
use cassandra::{NodeAddressMap, RedirectingConnector};
use host::probe::{Last, Out, SampledSource};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// Maximum time of one response. The JMX exporter needs several seconds if the schema is large.
const LIMIT: Duration = Duration::from_secs(10);

/// Maximum number of series of one scrape. An exporter has a few thousand series, of which a report
/// shows only a few.
const SERIES_COUNT_MAX: usize = 5_000;

/// An endpoint to scrape.
pub struct Scrape {
    url: String,
    place: String,
    filter: Filter,
    agent: ureq::Agent,
    last: Last<HashMap<(String, String), f64>>,
}

impl Scrape {
    /// Creates a scraper for `url`. `metrics` has the same meaning as for
    /// [`super::read_prometheus`].
    ///
    /// # Errors
    /// The address does not begin with `http://`, has no host, or contains a password.
    pub fn new(url: &str, metrics: &[String]) -> Result<Scrape> {
        let shown = yaml::without_secrets(url);
        let rest = url.strip_prefix("http://").with_context(|| {
            format!("the endpoint {shown} must begin with http://: cassay supports no other scheme")
        })?;
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        ensure!(!place.is_empty(), "the endpoint {shown} has no host");
        ensure!(
            !place.contains('@'),
            "the endpoint {shown} has a password in its address, where other users can read it"
        );
        Ok(Scrape {
            url: url.to_string(),
            place: place.to_string(),
            filter: Filter::new(metrics),
            agent: ureq::Agent::with_parts(config(), DefaultConnector::new(), BySystem),
            last: Last::none(),
        })
    }

    /// Creates a scraper for the node with this name, at `address`, or at the current address of
    /// the node if it has moved. `metrics` has the same meaning as for [`super::read_prometheus`].
    pub fn for_node(
        node: &str,
        address: SocketAddr,
        metrics: &[String],
        moves: &NodeAddressMap,
    ) -> Scrape {
        Scrape {
            url: format!("http://{address}/metrics"),
            place: node.to_owned(),
            filter: Filter::new(metrics),
            agent: ureq::Agent::with_parts(
                config(),
                DefaultConnector::new(),
                RedirectingConnector::to(address, moves),
            ),
            last: Last::none(),
        }
    }

    /// Returns the host and the port of the endpoint. Series that do not name a place use this text
    /// as their place.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn ask(&self) -> Result<String> {
        let mut response =
            self.agent.get(&self.url).header("Accept", "text/plain;version=0.0.4").call()?;
        let status = response.status();
        ensure!(status == 200, "the endpoint answered with status {status}");
        let body = response.body_mut().with_config().limit(SCRAPE_BYTES_MAX);
        Ok(body.read_to_string()?)
    }

    fn put(&mut self, text: &str, now_ns: u64, out: &mut Out) -> Result<()> {
        let described = Exposition::parse(text)?.described(&self.place, &self.filter);
        ensure!(
            described.len() <= SERIES_COUNT_MAX,
            "the endpoint has {} series, more than the maximum of {SERIES_COUNT_MAX}; hint: name \
             the required series",
            described.len()
        );
        let mut counters = HashMap::new();
        let mut units = Vec::new();
        for (one, value) in described {
            if one.counter {
                units.push((one.name.clone(), one.place.clone(), one.unit));
                counters.insert((one.name, one.place), value);
            } else {
                out.put(&one.name, &one.place, one.unit, value);
            }
        }
        let Some((before, seconds)) = self.last.replace(now_ns, counters.clone()) else {
            return Ok(());
        };
        for (name, place, unit) in units {
            let key = (name, place);
            let (Some(before), Some(now)) = (before.get(&key), counters.get(&key)) else {
                continue;
            };
            // A lower value means that the counter restarted, so the rate of this interval is
            // unknown.
            if now >= before {
                out.put(&key.0, &key.1, unit, (now - before) / seconds);
            }
        }
        Ok(())
    }
}

fn config() -> ureq::config::Config {
    ureq::Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .max_redirects(0)
        .proxy(None)
        .build()
}

/// Resolver that resolves host names in the same way as the rest of cassay.
#[derive(Debug)]
struct BySystem;

impl Resolver for BySystem {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let found = host::host_names::addresses_of(host, uri.port_u16().unwrap_or(80))
            .map_err(|error| ureq::Error::Io(std::io::Error::other(format!("{error:#}"))))?;
        let mut addresses = self.empty();
        // The list has room for 16 addresses.
        found.into_iter().take(16).for_each(|address| addresses.push(address));
        Ok(addresses)
    }
}

impl SampledSource for Scrape {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let context = |url: &str| format!("ask {url}");
        let text = self.ask().with_context(|| context(&self.url))?;
        self.put(&text, now_ns, out).with_context(|| context(&self.url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Starts a server that answers each connection with the next of `answers`, and ends after the
    /// last one.
    fn serve(answers: Vec<String>) -> (String, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        (format!("http://{address}/metrics"), thread)
    }

    fn ok(body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
    }

    #[test]
    fn an_end_point_is_read_and_its_counters_become_rates() {
        let (url, thread) = serve(vec![
            ok("x_total 10\nup 1\n"),
            ok("x_total 14\nup 0\n"),
            ok("x_total 3\nup{instance=\"other\"} 1\n"),
        ]);
        let mut scrape = Scrape::new(&url, &[]).unwrap();
        let place = scrape.place().to_string();
        assert!(place.starts_with("127.0.0.1:"));
        let mut out = Out::new();
        for seconds in [1, 3, 5] {
            scrape.look(seconds * 1_000_000_000, &mut out).unwrap();
        }
        thread.join().unwrap();
        let seen: Vec<_> = out
            .readings()
            .iter()
            .map(|one| (&*one.name, &*one.place, &*one.unit, one.value))
            .collect();
        assert_eq!(
            seen,
            [
                ("prometheus.up", place.as_str(), "count", 1.0),
                ("prometheus.up", &place, "count", 0.0),
                ("prometheus.x_total/s", &place, "/s", 2.0),
                ("prometheus.up", "other", "count", 1.0),
            ]
        );
    }

    #[test]
    fn redirects_and_errors_are_problems() {
        let moved = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n";
        let (url, thread) = serve(vec![moved.to_string(), ok("<html>\n")]);
        let mut scrape = Scrape::new(&url, &[]).unwrap();
        let mut out = Out::new();
        let mut problem = || format!("{:#}", scrape.look(1, &mut out).unwrap_err());
        let error = problem();
        assert!(
            error.contains("ask http://127.0.0.1") && error.contains("302"),
            "{error}"
        );
        let error = problem();
        assert!(
            error.contains("line 1: expected a value after the name"),
            "{error}"
        );
        thread.join().unwrap();
        assert!(out.readings().is_empty());
    }

    #[test]
    fn only_plain_http_without_a_password_is_asked() {
        for (url, words) in [
            ("https://127.0.0.1/metrics", "must begin with http://"),
            ("http:///metrics", "has no host"),
            ("http://me:secret@127.0.0.1/metrics", "has a password"),
        ] {
            let error = Scrape::new(url, &[]).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
