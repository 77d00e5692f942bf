//! Tests `cassay serve` and `cassay watch` with runs on the null target. The tests speak HTTP over
//! a socket, so that they see every byte.

use crate::program::{Lab, Started, skip, wait_until};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

#[path = "../../../../report/tests/it/browser/driver.rs"]
mod browser;

const STUDY: &str = "\
study: shown
question: What does a <reader> see?
target: {null: {latency: 1ms, errors: {overloaded: 0.004}}}
workload: {use: standard1, mix: {write: 1, read: 1}}
data: {present: 1k}
procedure: {sweep: {threads: [2, 4]}}
window: {warmup: 0s, measure: 2s}
";

struct Server {
    process: Started,
    /// Host and port.
    address: String,
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn start(lab: &Lab, arguments: &[&str]) -> Server {
        let mut process = lab.start(&[&["serve"], arguments].concat());
        let line = process.first_line();
        let rest = line.strip_prefix("http://").unwrap_or_else(|| panic!("an address: {line}"));
        let (host, _) = rest.split_once('/').unwrap();
        Server {
            process,
            address: host.to_owned(),
        }
    }

    /// Sends a request with these headers.
    fn send(&self, method: &str, target: &str, headers: &str) -> TcpStream {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        let head = format!("{method} {target} HTTP/1.1\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, method: &str, target: &str, headers: &str) -> Reply {
        let mut bytes = Vec::new();
        self.send(method, target, headers).read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        Reply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn get(&self, target: &str) -> Reply {
        self.ask("GET", target, &format!("Host: {}\r\n", self.address))
    }

    /// Waits until a run is running, and returns the path of its page without `report.html`.
    fn running_run(&self) -> String {
        wait_until("a running run", || {
            let reply = self.get("/latest/state.json");
            reply.status == 200 && reply.body.contains("\"running\"")
        });
        let head = self.get("/latest").head;
        let to = head.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
        format!("/{}", to.strip_suffix("report.html").unwrap())
    }
}

/// Reads events until the run is over. Returns the names and the data of the events.
fn events(stream: TcpStream) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut name = String::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        if let Some(text) = line.strip_prefix("event: ") {
            text.clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((name.clone(), data.to_owned()));
        }
    }
    events
}

/// Returns the sum of the samples whose line begins with `begin`.
fn metric(text: &str, begin: &str) -> f64 {
    let samples = text.lines().filter(|line| line.starts_with(begin));
    samples
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
        .sum()
}

#[track_caller]
fn assert_near(seen: f64, expected: f64) {
    assert!(
        (seen / expected - 1.0).abs() < 0.01,
        "{seen}, expected {expected}"
    );
}

/// Compares the metrics of the finished run with its findings.
fn assert_metrics_agree(text: &str, findings: &Value) {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let trials = findings["trials"].as_array().unwrap();
    for kind in ["read", "write"] {
        let of_trials = |pointer: &str| -> f64 {
            let path = format!("/kinds/{kind}/{pointer}");
            trials.iter().map(|trial| trial.pointer(&path).unwrap().as_f64().unwrap()).sum()
        };
        let sample = |name: &str| {
            let of_kind = text.lines().filter(|line| line.contains(&format!("kind=\"{kind}\"")));
            metric(&of_kind.collect::<Vec<_>>().join("\n"), name)
        };
        assert_near(sample("cassay_operations_total{"), of_trials("ops"));
        assert_near(sample("cassay_errors_total{"), of_trials("error_ms/count"));
        let count = of_trials("latency_ms/count");
        assert_near(sample("cassay_latency_seconds_count{"), count);
        let sum_s: f64 = trials
            .iter()
            .map(|trial| {
                let latency = &trial["kinds"][kind]["latency_ms"];
                let mean_ms = latency["mean"].as_f64().unwrap();
                mean_ms / 1e3 * latency["count"].as_f64().unwrap()
            })
            .sum();
        assert_near(sample("cassay_latency_seconds_sum{"), sum_s);
    }
}

#[test]
fn a_run_is_shown_live_and_at_its_end_as_its_report() {
    let lab = Lab::with(STUDY);
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    assert_eq!(server.get("/").status, 503, "the results folder is missing");
    let run = lab.start(&["run", "study.yaml"]);
    let page = server.running_run();
    let live = server.get(&format!("{page}report.html"));
    for part in [
        "http-equiv=\"refresh\"",
        "new EventSource(\"events\")",
        "What does a &lt;reader&gt; see?",
        "connect-src &#39;self&#39;",
    ] {
        assert!(
            live.body.contains(part) || live.body.contains(&part.replace("&#39;", "'")),
            "{part}"
        );
    }
    assert!(
        live.head.contains("frame-ancestors 'none'"),
        "{}",
        live.head
    );
    let host = format!("Host: {}\r\n", server.address);
    let events = events(server.send("GET", &format!("{page}events"), &host));
    let (last, updates) = events.split_last().expect("events");
    assert_eq!(last.0, "over");
    let figures = updates.iter().filter(|(name, data)| {
        let parts: Value = serde_json::from_str(data).unwrap();
        let headline = parts["live-headline"].as_str().unwrap_or_default();
        name == "update" && headline.contains("Throughput") && headline.contains("p99")
    });
    assert!(figures.count() > 0, "{events:?}");
    run.end().measured(&lab);
    let report = server.get(&format!("{page}report.html"));
    assert_eq!(report.status, 200);
    lab.cassay(&["report", "--to", "written.html"]).ended_with(0);
    let written = std::fs::read_to_string(lab.path().join("written.html")).unwrap();
    assert!(
        report.body == written,
        "the page is the report, byte for byte"
    );
    let findings = std::fs::read_to_string(lab.run().path.join("findings.json")).unwrap();
    let metrics = server.get("/metrics");
    assert!(metrics.head.contains("application/openmetrics-text; version=1.0.0"));
    assert_metrics_agree(&metrics.body, &serde_json::from_str(&findings).unwrap());
}

#[test]
fn the_metrics_of_a_followed_run_agree_with_its_findings() {
    let lab = Lab::with(STUDY);
    let run = lab.start(&["run", "study.yaml"]);
    let results = lab.path().join("results");
    wait_until("a run", || {
        store::live::run_folder(&results, "latest").is_ok()
    });
    let path = store::live::run_folder(&results, "latest").unwrap();
    let mut follower = store::live::RunFollower::open(&path).unwrap();
    let mut seconds = 0;
    wait_until("the end of the run", || {
        follower.read().unwrap();
        seconds = seconds.max(follower.state().seconds.len());
        follower.state().state != store::RunState::Running
    });
    run.end().measured(&lab);
    assert!(seconds > 0, "the follower has seen seconds");
    let metrics = follower.metrics(&[1 << 40]).unwrap();
    let findings = lab.run().findings.unwrap();
    for one in metrics {
        let series = findings.trials.iter().map(|trial| &trial.kinds[&one.kind]);
        let (ops, errors, count) = series.fold((0, 0, 0), |(ops, errors, count), series| {
            let latency = &series.latency_ms;
            (
                ops + series.ops,
                errors + series.error_ms.count,
                count + latency.count,
            )
        });
        assert_eq!(
            (one.ops, one.errors, one.count),
            (ops, errors, count),
            "{}",
            one.kind
        );
    }
    let state = follower.state();
    assert_eq!(state.finished().count(), 2);
    assert_eq!(state.verdict, Some(findings.verdict));
    assert_eq!(state.answer, findings.answer);
}

#[test]
fn lists_and_comparisons_are_pages_and_wrong_requests_say_so() {
    let lab = Lab::with(STUDY);
    let quick = ["run", "study.yaml", "--set", "window.measure=1s"];
    lab.cassay(&quick).measured(&lab);
    lab.cassay(&quick).measured(&lab);
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    let list = server.get("/").body;
    let names = store::run_names(&lab.path().join("results")).unwrap();
    for name in &names {
        assert!(list.contains(&format!("run/{name}/report.html")), "{list}");
    }
    assert!(list.contains("class=\"spark\"") && !list.contains("<script"));
    let runs: Vec<String> = names.iter().map(|name| name.replace('/', "%2F")).collect();
    let compared = server.get(&format!("/compare?run={}&run={}", runs[0], runs[1]));
    assert_eq!(compared.status, 200, "{}", compared.body);
    assert!(compared.body.contains(names.first().unwrap()));
    let history = server.get("/history/shown").body;
    assert!(
        history.contains("../run/shown/"),
        "the history links to the runs"
    );
    let so_far = server.get(&format!("/run/{}/so-far.html", names.first().unwrap()));
    assert_eq!(so_far.status, 200);
    for (target, status) in [
        ("/run/shown/20000101T000000Z/report.html", 404),
        ("/run/shown/..%2F../report.html", 404),
        ("/run/../../report.html", 404),
        ("/history/unknown", 404),
        ("/compare?run=a", 400),
        ("/compare?run=a/1&run=b/2", 404),
        ("/nothing", 404),
        ("/%00", 400),
    ] {
        assert_eq!(server.get(target).status, status, "{target}");
    }
    let host = format!("Host: {}\r\n", server.address);
    assert_eq!(server.ask("POST", "/", &host).status, 405);
    assert_eq!(server.ask("GET", "/", "Host: evil.example\r\n").status, 421);
    assert!(server.ask("HEAD", "/", &host).body.is_empty());
    let large = format!("{host}X: {}\r\n", "x".repeat(20_000));
    assert_eq!(server.ask("GET", "/", &large).status, 431);
    // A damaged run has a page with the reason, and the list still shows the others.
    let plan = lab.run().path.join("plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("reader", "READER")).unwrap();
    let damaged = server.get(&format!("/run/{}/so-far.html", names.last().unwrap()));
    assert_eq!(damaged.status, 500);
    assert!(damaged.body.contains("plan.json"), "{}", damaged.body);
    std::fs::rename(lab.path().join("results"), lab.path().join("elsewhere")).unwrap();
    assert_eq!(server.get("/").status, 503);
    server.process.interrupt();
    server.process.end().ended_with(0);
}

#[test]
fn a_reader_needs_the_token_which_no_message_contains() {
    let lab = Lab::with(STUDY);
    let token = "0123456789abcdef-secret";
    lab.write("token", token);
    let arguments = ["--listen", "127.0.0.1:0", "--token", "file:token"];
    let server = Server::start(&lab, &arguments);
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!(server.get("/metrics?token=wrong").status, 401);
    std::fs::create_dir(lab.path().join("results")).unwrap();
    let kept = server.get(&format!("/?q=a&token={token}"));
    assert_eq!(kept.status, 303);
    let line = |begin: &str| kept.head.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
    assert_eq!(line("Location: "), "/?q=a");
    let cookie = line("Set-Cookie: ").split(';').next().unwrap().to_owned();
    for header in [
        format!("Cookie: {cookie}\r\n"),
        format!("Authorization: Bearer {token}\r\n"),
    ] {
        assert_eq!(server.ask("GET", "/", &header).status, 200, "{header}");
    }
    let address = format!("http://{}", server.address);
    let refused = lab.cassay(&["watch", &address]).ended_with(1);
    refused.says(&["needs another token", "--token file:PATH"]);
    let unknown = lab.cassay(&["watch", &address, "--token", "file:token"]).ended_with(1);
    unknown.says(&["does not know this run"]);
    server.process.interrupt();
    let said = server.process.end().ended_with(0);
    assert!(!said.stderr.contains("secret"), "{said}");
}

#[test]
fn an_address_in_use_is_an_error_with_a_remedy() {
    let lab = Lab::new();
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    let said = lab.cassay(&["serve", "--listen", &server.address]).ended_with(1);
    said.says(&["cannot serve on", "hint: name another port"]);
}

#[test]
fn watch_shows_a_run_to_its_end_and_ctrl_c_leaves_it_alone() {
    let lab = Lab::with(STUDY);
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    let run = lab.start(&["run", "study.yaml"]);
    server.running_run();
    let address = format!("http://{}", server.address);
    let mut left = lab.start(&["watch"]);
    left.wait_for("shown/");
    left.interrupt();
    left.end().ended_with(130).says(&["The run continues"]);
    let remote = lab.start(&["watch", &address, "--view", "plain"]);
    let local = lab.start(&["watch", "shown"]);
    run.end().measured(&lab);
    for watched in [remote.end(), local.end()] {
        let watched = watched.ended_with(0);
        assert!(watched.stdout.starts_with("shown: "), "{watched}");
        watched.says(&[
            "2 threads",
            "4 threads",
            "op/s",
            "report: cassay report shown/",
        ]);
    }
}

/// A browser connects again with the identifier of the last event.
#[test]
fn a_restarted_server_continues_and_the_run_is_unharmed() {
    let lab = Lab::with(STUDY);
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    let run = lab.start(&["run", "study.yaml"]);
    let page = server.running_run();
    let address = server.address.clone();
    let host = format!("Host: {address}\r\n");
    let stream = server.send("GET", &format!("{page}events"), &host);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let id = lines.find_map(|line| line.strip_prefix("id: ").map(str::to_owned)).unwrap();
    server.process.kill();
    let again = Server::start(&lab, &["--listen", &address]);
    let headers = format!("{host}Last-Event-ID: {id}\r\n");
    let events = events(again.send("GET", &format!("{page}events"), &headers));
    assert!(
        events.iter().any(|(name, _)| name == "update"),
        "{events:?}"
    );
    assert_eq!(events.last().unwrap().0, "over");
    run.end().measured(&lab);
}

/// The browser opens the page many times while the run continues. The end of the test ends the run.
#[test]
fn a_live_page_and_the_list_are_whole_in_a_browser() {
    if let Some(why) = browser::missing() {
        return skip(why);
    }
    let lab = Lab::with(STUDY);
    lab.cassay(&["run", "study.yaml"]).measured(&lab);
    let long = [
        "--set",
        "window.measure=600s",
        "--set",
        "procedure.sweep.threads=[2]",
    ];
    let _run = lab.start(&[&["run", "study.yaml"], &long[..]].concat());
    let server = Server::start(&lab, &["--listen", "127.0.0.1:0"]);
    let live = format!("{}report.html", server.running_run());
    wait_until("the first seconds", || {
        server.get(&live).body.contains("<svg")
    });
    browser::check(&[&live, "/"].map(|path| format!("http://{}{path}", server.address)));
}
