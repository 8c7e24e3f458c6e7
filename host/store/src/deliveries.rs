//! The stored form of a delivery. Its payload and its id have columns of their own.

use rialto_engine::{Cause, Delivery, Name, Origin, Payload, Trace, TurnId};
use serde::{Deserialize, Serialize};

/// A delivery without its id and payload, stored as JSON in the column `head`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeliveryHead {
    cause: Cause,
    component: Name,
    interface: Name,
    function: Name,
    by: Option<TurnId>,
    trace: Trace,
    subjects: Vec<Name>,
    hops: u32,
}

impl DeliveryHead {
    /// The head of a delivery.
    #[must_use]
    pub fn of(delivery: &Delivery) -> Self {
        Self {
            cause: delivery.cause.clone(),
            component: delivery.component.clone(),
            interface: delivery.interface.clone(),
            function: delivery.function.clone(),
            by: delivery.by,
            trace: delivery.trace,
            subjects: delivery.subjects.clone(),
            hops: delivery.hops,
        }
    }

    /// The delivery with this head, id and payload, which starts have given back so often.
    #[must_use]
    pub fn delivery(self, id: u64, payload: Vec<u8>, redeliveries: u32) -> Delivery {
        Delivery {
            id,
            cause: self.cause,
            component: self.component,
            interface: self.interface,
            function: self.function,
            payload: Payload::Stored(payload.into()),
            by: self.by,
            trace: self.trace,
            subjects: self.subjects,
            hops: self.hops,
            redeliveries,
            origin: Origin::default(),
        }
    }
}
