//! Notices to operators about requests. Notifications & Alerts delivers them.

use crate::bindings::rialto::participant_lifecycle_management::approval_notification::{
    Audience, Event as Notice,
};
use crate::requests::Request;
use crate::world::{Event, World};

/// Publishes a notice of a request's state.
pub fn tell(world: &mut dyn World, audience: Audience, request: &Request, message: &str) {
    let at = world.now();
    world.publish(Event::Notice(Notice {
        audience,
        request_id: request.id.clone(),
        kind: request.asked.kind().name().to_owned(),
        participant: request.participant.clone(),
        state: request.state.name().to_owned(),
        message: message.to_owned(),
        at,
    }));
}
