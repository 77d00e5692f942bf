//! Distributes a load among clients, and starts all of them at the same start line.

use crate::client_requests::{Arm, ClientConfig, Go};
use crate::clients::{Client, Clients, LIMIT, WORK_LIMIT};
use crate::fleet_load::{Fleet, FleetLoad};
use crate::on_all_clients::{all_or_failures, at_once};
use anyhow::{Context, Result, ensure};
use load::{Config, OtherWorkers};
use measure::clock;

/// Number of operations that controller and client compare before the load begins.
const FINGERPRINT_OPERATIONS: u64 = 1000;

/// Minimum time between sending the start line and the start line itself, in ns. The controller
/// adds `WAYS_AHEAD` times the largest error bound of a clock offset, which measures the transit
/// time. So the start line arrives in time.
const START_AHEAD_NS: u64 = clock::SECOND_NS;
const WAYS_AHEAD: u64 = 10;

impl Clients {
    /// Distributes the load of `config` among the clients, and starts them at one start line.
    /// Ignores the number of workers in `config`. All clients must already have the program's
    /// sources.
    ///
    /// # Errors
    /// A client cannot connect, makes different operations from the same sources, or has ended. The
    /// error lists all failures with their clients. No client then applies load.
    pub fn start(&self, config: &Config) -> Result<Fleet> {
        let begun = self.begin(config);
        if begun.is_err() {
            self.disarm();
        }
        begun.map(|together| Fleet::Together(Box::new(together)))
    }

    fn begin(&self, config: &Config) -> Result<FleetLoad> {
        let workers = shares(&self.wanted_workers(), config.in_flight() as usize);
        let shares: Vec<(&Client, ClientConfig)> = self
            .all()
            .iter()
            .zip(seated(config, &workers))
            .fold(Vec::new(), |mut all, (client, own)| {
                if let Some(mut own) = own {
                    own.cpus = cpus_of(client, config, own.others.before);
                    all.push((client, ClientConfig::from_config(&own)));
                }
                all
            });
        let expected = config.program.fingerprint_of(config.stage, FINGERPRINT_OPERATIONS);
        let armed = at_once(&shares, |(client, asked)| {
            let call = Arm {
                asked: asked.clone(),
                fingerprint_operations: FINGERPRINT_OPERATIONS,
            };
            let armed = client.link.call(&call, WORK_LIMIT)?;
            ensure!(
                armed.fingerprint == expected,
                "the client generates different operations from the same sources: this is a bug in \
                 cassay"
            );
            Ok(armed.connections)
        });
        let armed =
            all_or_failures(armed.zip(&shares).map(|(one, (client, _))| (one, client.words())))?;
        let clients: Vec<&Client> = shares.iter().map(|(client, _)| *client).collect();
        let mut together = FleetLoad::new(config, &clients, workers.iter().sum());
        let workers = workers.iter().copied().filter(|workers| *workers > 0);
        together.are_armed(workers.zip(armed));
        let mut starts = Vec::new();
        let mut way_ns = 0;
        for client in &clients {
            client.clock.begin();
            let offset =
                client.clock.offset().context("the offset of the client's clock is unknown")?;
            way_ns = way_ns.max(offset.bound_ns);
            starts.push(offset);
        }
        let start_ns = clock::now_ns() + START_AHEAD_NS + WAYS_AHEAD * way_ns;
        let starts: Vec<(&Client, u64)> = clients
            .iter()
            .zip(starts)
            .map(|(client, offset)| (*client, offset.theirs(start_ns)))
            .collect();
        let told = at_once(&starts, |(client, start_ns)| {
            client.link.call(
                &Go {
                    start_ns: *start_ns,
                },
                LIMIT,
            )
        });
        let told = all_or_failures(told.zip(&starts).map(|(one, (c, _))| (one, c.words())))?;
        let late = told
            .iter()
            .zip(&starts)
            .map(|(told, (_, start_ns))| (*start_ns, told.at_ns.saturating_sub(*start_ns)));
        together.begin(start_ns, late.collect());
        Ok(together)
    }

    fn wanted_workers(&self) -> Vec<usize> {
        self.all().iter().map(Client::workers).collect()
    }
}

/// Returns the CPUs of a client. Without its own CPUs, a client on the controller's machine uses
/// the CPUs of the load, rotated by `before`, the number of workers of earlier clients. So clients
/// use different CPUs if possible.
fn cpus_of(client: &Client, config: &Config, before: usize) -> Vec<usize> {
    if client.seat.far.is_some() || !client.seat.cpus.is_empty() || config.cpus.is_empty() {
        return client.seat.cpus.clone();
    }
    let mut cpus = config.cpus.clone();
    cpus.rotate_left(before % config.cpus.len());
    cpus
}

/// Returns the number of workers of each client, so that each worker has at least one operation in
/// flight. Clients get the number that they request if possible. Otherwise the workers are
/// distributed in turn.
fn shares(asked: &[usize], in_flight: usize) -> Vec<usize> {
    let mut given = vec![0; asked.len()];
    let mut left = in_flight;
    for round in 1..=asked.iter().copied().max().unwrap_or(0) {
        for (given, asked) in given.iter_mut().zip(asked) {
            if round <= *asked && left > 0 {
                *given += 1;
                left -= 1;
            }
        }
    }
    given
}

/// Returns the configuration of each client. `None` for a client without workers.
fn seated(config: &Config, workers: &[usize]) -> Vec<Option<Config>> {
    let all: usize = workers.iter().sum();
    let mut before = 0;
    let mut seat = |own: usize| {
        let others = OtherWorkers {
            before,
            after: all - before - own,
        };
        before += own;
        (own > 0).then(|| Config {
            workers: own,
            others,
            ..config.clone()
        })
    };
    workers.iter().map(|own| seat(*own)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_an_operation_and_clients_share_the_rest() {
        for (asked, in_flight, expected) in [
            (&[2, 2][..], 64, &[2, 2][..]),
            (&[4, 1, 2], 64, &[4, 1, 2]),
            (&[4, 4], 3, &[2, 1]),
            (&[1, 8], 4, &[1, 3]),
            (&[1, 1, 1], 2, &[1, 1, 0]),
        ] {
            assert_eq!(shares(asked, in_flight), expected, "{asked:?} {in_flight}");
        }
    }
}
