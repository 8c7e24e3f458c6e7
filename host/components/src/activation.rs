//! What components do when their release becomes current, in steps that are turns: which step comes
//! next, and whose it is. The turns themselves are in `runtime`.

use std::any::Any;
use std::sync::Arc;

use crate::release::Release;

/// A step of what components have to do when their release becomes current.
#[derive(Clone)]
pub struct Activation {
    /// The release.
    pub release: Arc<Release>,
    /// Counted from 0.
    pub step: u32,
    /// Whose step it is, by their indexes in the release.
    pub members: Vec<usize>,
}

impl Activation {
    /// The first step; none when no component has anything to do.
    pub fn first(release: Arc<Release>) -> Option<Self> {
        let members = release.members.iter().enumerate();
        let members = members.filter(|(_, member)| member.wants_activation());
        let members: Vec<usize> = members.map(|(at, _)| at).collect();
        (!members.is_empty()).then_some(Self {
            release,
            step: 0,
            members,
        })
    }

    /// The step after this one, by the answer of its turn; none when nobody has more to do.
    pub fn next(&self, answer: &(dyn Any + Send)) -> Option<Self> {
        let UnfinishedMembers(members) = answer.downcast_ref()?;
        (!members.is_empty()).then(|| Self {
            release: self.release.clone(),
            step: self.step.saturating_add(1),
            members: members.clone(),
        })
    }
}

/// The answer of an activation's turn: who has more to do.
pub(crate) struct UnfinishedMembers(pub Vec<usize>);
