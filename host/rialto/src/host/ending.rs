//! The end of a host: a stop, or a handover to another one.

use std::time::{Duration, Instant};

use super::Host;
use super::addresses;
use crate::starting::VERSION;

/// How long a handover waits for requests under way. Others wait meanwhile, so no client may hold it up.
const PASS_MAX: Duration = Duration::from_secs(2);
/// How long the end of the host waits for providers of keys.
const KEYS_CLOSE_MAX: Duration = Duration::from_secs(5);

impl Host {
    /// Stop: answer the requests under way, write all executed turns, and end.
    pub fn stop(mut self) {
        // Before another process can take a port of this host.
        if let Err(error) = addresses::forget(&self.folder) {
            tracing::warn!("{error:#}");
        }
        // Health that is followed ends, so that no client keeps a listener open.
        let _ = self.stop.send(true);
        if let Some(mut doors) = self.doors.take() {
            doors.close(&self.handle);
        }
        self.finish();
        let _ = self.listens.send(true);
        // No turn begins a call any more. Those under way may have made keys, which are destroyed.
        self.keys.close(Instant::now() + KEYS_CLOSE_MAX);
        drop(self.cluster.take());
        self.give_lease_back();
        // All turns have ended: these are the last spans and almost the last log lines.
        if let Some(exporting) = self.exporting.take() {
            exporting.finish(&self.handle);
        }
        tracing::info!(version = VERSION, "the host has stopped");
    }

    /// Hand the scheme over to a standby, and pass requests to it from now on. Requests under way are answered first, and
    /// all executed turns are written. Then only [`Self::stop`] is left to do.
    pub fn hand_over(&mut self) {
        let since = Instant::now();
        if let Some(clustered) = &self.shared.clustered {
            clustered.passes();
        }
        if let Some(doors) = &self.doors {
            let passing = async { tokio::time::timeout(PASS_MAX, doors.pass()).await };
            if self.handle.block_on(passing).is_err() {
                tracing::warn!(
                    "a request was not answered in time, and the host hands over without it"
                );
            }
        }
        self.finish();
        self.give_lease_back();
        tracing::info!(
            milliseconds = since.elapsed().as_millis(),
            "this host has handed over, and passes requests until it is stopped"
        );
    }

    /// End all work: close listeners without a door, and write all executed turns.
    fn finish(&mut self) {
        let _ = self.stop.send(true);
        for server in self.servers.drain(..) {
            let _ = self.handle.block_on(server);
        }
        self.shared.shadows.stop();
        self.shared.backtests.stop();
        self.shared.books.stop();
        // No client is refused any more, and the committer still writes.
        self.shared.denials.write(&self.shared.engine, true);
        if let Some(thread) = self.archiver_thread.take() {
            thread.stop();
        }
        if let Some(threads) = self.threads.take() {
            threads.stop();
        }
        // All entries are written, and the provider still answers.
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.stop();
        }
        if let Some(export) = self.audit_export.take() {
            export.stop();
        }
        if let Some(sending) = self.events_outside.take() {
            sending.stop();
        }
    }

    /// The last group is written: a standby need not wait until the lease expires.
    fn give_lease_back(&self) {
        if let Some(lease) = &self.shared.lease
            && let Err(error) = lease.hand_over()
        {
            tracing::warn!(%error, "the lease could not be handed over; it expires by itself");
        }
    }
}
