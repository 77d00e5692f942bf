//! Tests that the null target applies the latencies, stalls and errors of its settings.

use super::*;
use std::time::Duration;
use target_spec::{Latency, NullSpec, Reads, Stall};

#[test]
fn fixed_latency_is_never_undercut_and_keeps_the_order() {
    let ns = 3_000_000;
    let latency = Latency::Fixed { ns };
    let server = start(NullSpec {
        latency,
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    for _ in 0..5 {
        let sent_ns = clock::now_ns();
        let streams: Vec<i16> = client.pipeline(&id, 200).iter().map(|a| a.header.stream).collect();
        assert!(clock::now_ns() - sent_ns >= ns);
        assert_eq!(streams, (0..200).collect::<Vec<i16>>());
    }
}

#[test]
fn random_latency_lets_answers_overtake_and_loses_none() {
    let latency = Latency::Exponential { mean_ns: 1_000_000 };
    let server = start(NullSpec {
        latency,
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let mut streams: Vec<i16> =
        client.pipeline(&id, 1000).iter().map(|a| a.header.stream).collect();
    assert!(!streams.is_sorted());
    streams.sort_unstable();
    assert_eq!(streams, (0..1000).collect::<Vec<i16>>());
}

#[test]
fn nothing_sent_in_a_stall_is_answered_before_its_end() {
    let stall = Stall {
        every: Duration::from_millis(60),
        length: Duration::from_millis(30),
    };
    let server = start(NullSpec {
        stall: Some(stall),
        ..NullSpec::default()
    });
    let stalls = Stalls::new(&stall, server.started_ns());
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut in_stalls = 0;
    while in_stalls < 5 {
        assert!(!deadline.passed(), "no request ever fell into a stall");
        let sent_ns = clock::now_ns();
        let released_ns = stalls.release_ns(sent_ns);
        in_stalls += u32::from(released_ns > sent_ns);
        let streams: Vec<i16> = client.pipeline(&id, 50).iter().map(|a| a.header.stream).collect();
        assert!(clock::now_ns() >= released_ns);
        assert_eq!(streams, (0..50).collect::<Vec<i16>>());
    }
}

#[test]
fn errors_have_exactly_their_shares() {
    let errors = vec![
        (ErrorCode::Overloaded, 0.1),
        (ErrorCode::WriteTimeout, 0.05),
        (ErrorCode::Unprepared, 0.01),
    ];
    let server = start(NullSpec {
        errors: errors.clone(),
        ..NullSpec::default()
    });
    let mut client = Client::new(&server);
    let id = client.prepare("INSERT INTO k.t (a) VALUES (?)").id;
    let answers: Vec<Answer> = (0..10).flat_map(|_| client.pipeline(&id, 200)).collect();
    for (code, share) in errors {
        let seen = answers.iter().filter(|a| a.error_code() == Some(code)).count();
        assert_eq!(seen, (2000.0 * share) as usize, "{code:?}");
    }
    let void = answers.iter().filter(|answer| answer.is_void()).count();
    let counts = server.counts();
    assert_eq!(
        (void as u64, counts.writes, counts.refused),
        (1680, 1680, 320)
    );
    assert_eq!(counts.executes(), 2000);
}

#[test]
fn every_error_can_be_parsed_with_its_details() {
    for code in [
        ErrorCode::ServerError,
        ErrorCode::Unavailable,
        ErrorCode::Overloaded,
        ErrorCode::IsBootstrapping,
        ErrorCode::TruncateError,
        ErrorCode::WriteTimeout,
        ErrorCode::ReadTimeout,
        ErrorCode::ReadFailure,
        ErrorCode::WriteFailure,
        ErrorCode::FunctionFailure,
        ErrorCode::CasWriteUnknown,
        ErrorCode::AlreadyExists,
        ErrorCode::Unprepared,
        ErrorCode::Invalid,
    ] {
        let server = start(NullSpec {
            errors: vec![(code, 1.0)],
            ..NullSpec::default()
        });
        let mut client = Client::new(&server);
        assert_eq!(
            client.query("INSERT INTO k.t (a) VALUES (1)").error_code(),
            Some(code)
        );
        // The configured errors do not apply to requests that are not operations.
        assert_eq!(
            client.query("SELECT * FROM system.local").error_code(),
            None
        );
    }
}

#[test]
fn impossible_values_are_refused_before_anything_starts() {
    let running = start(NullSpec::default());
    let stall = |every, length| {
        let (every, length) = (Duration::from_millis(every), Duration::from_millis(length));
        NullSpec {
            stall: Some(Stall { every, length }),
            ..NullSpec::default()
        }
    };
    for (spec, word) in [
        (stall(10, 10), "stall"),
        (stall(10, 0), "stall"),
        (
            NullSpec {
                errors: vec![(ErrorCode::Invalid, 2.0)],
                ..NullSpec::default()
            },
            "share",
        ),
        (
            NullSpec {
                latency: Latency::Uniform {
                    from_ns: 2,
                    to_ns: 1,
                },
                ..NullSpec::default()
            },
            "swap",
        ),
        (
            NullSpec {
                reads: Reads::Row {
                    cell_bytes: u32::MAX,
                },
                ..NullSpec::default()
            },
            "limit",
        ),
        (
            NullSpec {
                cpus: vec![100_000],
                ..NullSpec::default()
            },
            "CPU 100000",
        ),
        (
            NullSpec {
                port: running.address().port(),
                ..NullSpec::default()
            },
            "port",
        ),
    ] {
        let error = NullServer::start(&spec).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_connection_may_end_while_answers_are_held_for_it() {
    for latency in [
        Latency::Fixed { ns: 20_000_000 },
        Latency::Uniform {
            from_ns: 20_000_000,
            to_ns: 30_000_000,
        },
    ] {
        let server = start(NullSpec {
            latency,
            ..NullSpec::default()
        });
        let mut good = Client::new(&server);
        let id = good.prepare("INSERT INTO k.t (a) VALUES (?)").id;
        for goodbye in [&[0xFF; 20][..], &[]] {
            let mut bad = Client::new(&server);
            bad.send(|out| {
                for stream in 0..50 {
                    request::execute(out, stream, &id, &QueryParams::default());
                }
                out.extend_from_slice(goodbye);
            });
            if !goodbye.is_empty() {
                assert!(bad.is_closed());
            }
            drop(bad);
            // Another connection uses the same slot when the answers of the first connection become
            // due.
            let mut next = Client::new(&server);
            assert!(next.execute(&id).is_void());
            assert!(good.execute(&id).is_void());
        }
    }
}
