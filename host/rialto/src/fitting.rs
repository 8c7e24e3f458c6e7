//! What a host needs of a prepared release beyond components that fit together.

use rialto_components::Release;
use rialto_manifest::{Diagnostics, Scheme};

use crate::located::of_all;
use crate::releases::api_of;
use crate::{authorization, configuration, log_lines, revocations, rule_states, sources, tokens};

/// The first reason for which a host does not serve a release on these listeners; none if it does.
pub fn misfits<'n>(
    release: &Release,
    scheme: &Scheme,
    listeners: impl IntoIterator<Item = &'n str>,
) -> Option<Diagnostics> {
    let of = |code, error: String| Some(of_all(code, error));
    for name in listeners {
        if let Err(error) = api_of(release, name, scheme) {
            return of("bad-api", error.to_string());
        }
    }
    if let Err(error) = tokens::check(release, scheme) {
        return of("bad-tokens", error.to_string());
    }
    if let Err(error) = authorization::authorizer(release) {
        return of("bad-authorization", error.to_string());
    }
    if let Err(error) = configuration::keeper(release) {
        return of("bad-configuration", error.to_string());
    }
    if let Err(error) = sources::keeper(release) {
        return of("bad-addresses", error.to_string());
    }
    if let Err(error) = revocations::keeper(release) {
        return of("bad-revocations", error.to_string());
    }
    if let Err(error) = log_lines::keeper(release) {
        return of("bad-log-lines", error.to_string());
    }
    if let Err(error) = rule_states::keeper(release) {
        return of("bad-rule-states", error.to_string());
    }
    None
}
