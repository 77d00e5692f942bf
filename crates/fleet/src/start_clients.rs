//! Starts clients on seats that become available one by one, such as pods.

use crate::client_requests::Begin;
use crate::clients::{Client, Clients, SILENCE_S, Seat, name_of};
use crate::on_all_clients::all_or_failures;
use anyhow::{Context, Result, anyhow};
use remote::Link;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

/// Maximum number of clients that are started at a time. cassay copies this program for each of
/// them.
const STARTS_MAX: usize = 8;

impl Clients {
    /// Starts a client on each of `count` seats, which become available in any order. `next` waits
    /// for a seat, and returns its index in the fleet and the seat.
    ///
    /// # Errors
    /// A seat does not become available, or clients cannot be started. The error lists all failures
    /// with their reasons. The started clients are ended.
    pub fn as_they_come(
        count: usize,
        mut next: impl FnMut() -> Result<(usize, Seat)>,
    ) -> Result<Clients> {
        let (give, taken) = sync_channel::<(usize, Seat)>(0);
        let taken = Mutex::new(taken);
        let take = || taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let come = || {
            let mut mine = Vec::new();
            while let Ok((at, seat)) = take() {
                let (name, place) = (name_of(at + 1), seat.place());
                mine.push((at, Client::come(name, seat), place));
            }
            mine
        };
        let mut all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..STARTS_MAX.min(count)).map(|_| scope.spawn(come)).collect();
            let mut feed = || -> Result<()> {
                for _ in 0..count {
                    give.send(next()?).context("assign a seat")?;
                }
                Ok(())
            };
            let fed = feed();
            drop(give);
            let mine = |thread: ScopedJoinHandle<'_, Vec<_>>| match thread.join() {
                Ok(mine) => mine,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let came: Vec<_> = threads.into_iter().flat_map(mine).collect();
            fed.map(|()| came)
        })?;
        all.sort_by_key(|(at, ..)| *at);
        let came = all.into_iter().map(|(_, client, place)| (client, place));
        all_or_failures(came).map(Clients::new)
    }
}

impl Client {
    fn come(name: String, seat: Seat) -> Result<Client> {
        let far = seat
            .far
            .clone()
            .context("find the remote machine of the client")?
            .for_agent(&name);
        match Link::to(&far, &Begin { lease_s: SILENCE_S }) {
            Ok(link) => Client::over(Arc::new(link), name, seat),
            Err(refusal) => Err(anyhow!(refusal.why())),
        }
    }
}
