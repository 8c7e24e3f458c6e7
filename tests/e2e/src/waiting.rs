//! Waiting for a condition, with a deadline.

use std::time::{Duration, Instant};

use anyhow::bail;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// Polls until there is a result, at most this long. The error has the last observation.
///
/// # Errors
/// When time is up, or looking fails.
pub async fn until<T>(
    what: &str,
    within: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<Result<T, String>>,
) -> anyhow::Result<T> {
    let started = Instant::now();
    loop {
        match look().await? {
            Ok(seen) => return Ok(seen),
            Err(instead) if started.elapsed() > within => {
                bail!(
                    "{what}: not within {} ms; last seen: {instead}",
                    within.as_millis()
                );
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
