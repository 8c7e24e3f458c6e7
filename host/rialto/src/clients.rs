//! Following what components know of the clients of listeners: their access tokens, their addresses, their certificates.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::host::Shared;
use crate::revocations::CurrentRevocationKeeper;
use crate::sources::CurrentSourceKeeper;
use crate::tokens::CurrentIssuer;

/// Ask the components of the current release until told to stop.
pub fn follow(shared: &Shared, handle: &Handle, stop: &watch::Sender<bool>) {
    let (engine, runtime) = (&shared.engine, &shared.runtime);
    let issuer = CurrentIssuer::new(engine.clone(), runtime.clone());
    let tokens = shared.tokens.clone();
    handle.spawn(tokens.follow(Arc::new(issuer), stop.subscribe()));
    let keeper = CurrentSourceKeeper::new(engine.clone(), runtime.clone());
    let (sources, told) = (shared.sources.clone(), stop.subscribe());
    handle.spawn(async move { sources.follow(Arc::new(keeper), told).await });
    let keeper = CurrentRevocationKeeper::new(engine.clone(), runtime.clone());
    let (revocations, told) = (shared.revocations.clone(), stop.subscribe());
    handle.spawn(async move { revocations.follow(Arc::new(keeper), told).await });
}
