//! Tests of the fencing token: of two writers, only the newer one can write.

use rialto_engine::store::{Store, StoreError};

use crate::Backend;
use crate::samples::{delivery, group, outbound, put, reminder};
use crate::session::{Session, compare};

/// Not by its next write nor by a later one, not before nor after the newer one has written.
pub fn a_store_that_was_taken_over_writes_nothing_more<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut first = group(1);
    first.documents = vec![put(1, "a", 1, "1")];
    first.deliveries_added = vec![delivery(10)];
    session.write(&first);

    let newer = session.backend.intrude();
    session.compare_recovered(newer.recover());
    let mut late = group(2);
    late.documents = vec![put(1, "a", 2, "\"late\""), put(1, "b", 1, "\"late\"")];
    late.deliveries_added = vec![delivery(11)];
    late.deliveries_removed = vec![10];
    late.reminders_set = vec![reminder("one", "late", 1)];
    late.outbound_added = vec![outbound(12)];
    assert_eq!(session.store().write(&late), Err(StoreError::Fenced));
    compare(&newer, &session.model);

    let mut next = group(2);
    next.documents = vec![put(1, "a", 2, "\"newer\"")];
    next.deliveries_added = vec![delivery(13)];
    newer.write(&next).expect("the newer one writes");
    session.model.apply(&next);
    late.lsn.0 = 3;
    assert_eq!(session.store().write(&late), Err(StoreError::Fenced));
    compare(&newer, &session.model);
    drop(newer);
    session.reopen();

    let mut after = group(4);
    after.documents = vec![put(1, "a", 3, "\"after\"")];
    session.write(&after);
    session.reopen();
}
