//! The component that knows the configuration of all components of a release.

use rialto_components::release::{Member, Release};

use crate::asking::only;

/// The interface of the component.
const HANDLER: &str = "rialto:host/configuration-handler@0.1.0";

/// Several components would know the configuration of all.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "several components would know the configuration of all: only one may export `{HANDLER}`, and {0} do"
)]
pub struct Several(String);

/// The component that knows the configuration of all, if there is one.
///
/// # Errors
/// When there are several.
pub fn keeper(release: &Release) -> Result<Option<&Member>, Several> {
    only(release, Member::keeps_configuration).map_err(Several)
}
