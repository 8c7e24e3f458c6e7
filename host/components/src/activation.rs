//! The steps of an activation, the part of components when their release becomes current. Each step is a turn.
//! This module decides which step is next and which components run in it; `runtime` runs it.

use std::any::Any;
use std::sync::Arc;

pub use crate::bindings::exports::rialto::host::authorization_handler::{
    ComponentPrivileges, Privilege,
};
use crate::release::{Member, Release};

/// A step of an activation.
#[derive(Clone)]
pub struct Activation {
    /// The release.
    pub release: Arc<Release>,
    /// Counted from 0.
    pub step: u32,
    /// The components that run in the step, by their indexes in the release.
    pub members: Vec<usize>,
    /// The privileges of the release. The component that says who may do what is told in the last step.
    pub privileges: Arc<[ComponentPrivileges]>,
}

impl Activation {
    /// The first step; none if no component takes part. The privileges are those that the components' documents name.
    pub fn first(release: Arc<Release>, privileges: Vec<ComponentPrivileges>) -> Option<Self> {
        let members = release.members.iter().enumerate();
        let members = members.filter(|(_, member)| member.wants_activation());
        let members: Vec<usize> = members.map(|(at, _)| at).collect();
        let takes_part = !members.is_empty() || release.members.iter().any(Member::authorizes);
        takes_part.then_some(Self {
            release,
            step: 0,
            members,
            privileges: privileges.into(),
        })
    }

    /// The next step, by the answer of this one's turn; none if all components are done.
    pub fn next(&self, answer: &(dyn Any + Send)) -> Option<Self> {
        let UnfinishedMembers(members) = answer.downcast_ref()?;
        (!members.is_empty()).then(|| Self {
            release: self.release.clone(),
            step: self.step.saturating_add(1),
            members: members.clone(),
            privileges: self.privileges.clone(),
        })
    }
}

/// The answer of a step's turn: the components that are not done.
pub(crate) struct UnfinishedMembers(pub Vec<usize>);
