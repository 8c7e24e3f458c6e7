//! Requests that the host signs before they leave: none leaves without its signature, and all attempts have the same.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use rialto_edge::{NotSigned, OwnSigner};
use rialto_engine::network::{FailureKind, Outcome, OwnSignature, WhileAway};

use crate::outbound::{Fsp, Illness, PATIENCE, failed, fsp, world};

/// A signer that gives these answers, and then signs.
#[derive(Default)]
pub struct ScriptedSigner {
    answers: Mutex<VecDeque<NotSigned>>,
    /// What it has signed.
    signed: Mutex<Vec<(String, Vec<u8>)>>,
}

impl OwnSigner for ScriptedSigner {
    fn sign<'s>(
        &'s self,
        members: &'s str,
        body: &'s [u8],
    ) -> Pin<Box<dyn Future<Output = Result<String, NotSigned>> + Send + 's>> {
        Box::pin(async move {
            if let Some(answer) = self.answers.lock().pop_front() {
                return Err(answer);
            }
            let mut signed = self.signed.lock();
            signed.push((members.to_owned(), body.to_vec()));
            Ok(format!("signature {}", signed.len()))
        })
    }
}

fn wanted() -> Option<OwnSignature> {
    Some(OwnSignature {
        header: "x-signature".to_owned(),
        members: "{\"a\":1}".to_owned(),
    })
}

fn away() -> NotSigned {
    NotSigned::Away("the token is gone".to_owned())
}

fn url(fsp: &Fsp) -> String {
    format!("http://{}/transfers/t", fsp.address)
}

#[test]
fn all_attempts_send_one_signature() {
    let world = world();
    let fsp = fsp(&world.runtime, false, Illness::Silent);
    let report = world.send_signed(url(&fsp), WhileAway::Wait, 1_000, wanted());
    let report = report.recv_timeout(PATIENCE).unwrap();
    assert_eq!(failed(&report).0, FailureKind::TimedOut);
    let heard = fsp.heard.lock();
    assert!(heard.len() > 1, "{heard:?}");
    for request in &*heard {
        assert!(
            request.contains("x-signature: signature 1\r\n"),
            "{request}"
        );
    }
    let signed = world.signer.signed.lock();
    assert_eq!(*signed, [("{\"a\":1}".to_owned(), b"{}".to_vec())]);
}

#[test]
fn request_waits_for_its_signature_and_is_then_sent() {
    let world = world();
    let fsp = fsp(&world.runtime, true, Illness::Silent);
    world.signer.answers.lock().extend([away(), away(), away()]);
    let report = world.send_signed(url(&fsp), WhileAway::Wait, 60_000, wanted());
    let report = report.recv_timeout(PATIENCE).unwrap();
    assert!(
        matches!(report.outcome, Outcome::Delivered(_)),
        "{report:?}"
    );
    assert_eq!(report.attempts, 1, "waiting is no attempt");
    assert_eq!(fsp.met.load(Ordering::SeqCst), 1);
}

#[test]
fn nothing_leaves_without_the_signature_that_it_wants() {
    let world = world();
    let fsp = fsp(&world.runtime, true, Illness::Silent);
    let gone = NotSigned::Never("it has no key of its own".to_owned());
    let unusable = OwnSignature {
        header: "no name".to_owned(),
        members: "{}".to_owned(),
    };
    let cases = [
        (
            gone,
            WhileAway::Wait,
            wanted(),
            FailureKind::NotAllowed,
            "no key",
        ),
        (
            away(),
            WhileAway::GiveUp,
            wanted(),
            FailureKind::TimedOut,
            "the token is gone",
        ),
    ];
    for (answer, while_away, signature, kind, why) in cases {
        world.signer.answers.lock().push_back(answer);
        let report = world.send_signed(url(&fsp), while_away, 60_000, signature);
        let report = report.recv_timeout(PATIENCE).unwrap();
        let (failure, reason) = failed(&report);
        assert_eq!((failure, report.attempts), (kind, 0));
        assert!(reason.contains(why), "{reason}");
    }
    let report = world.send_signed(url(&fsp), WhileAway::Wait, 60_000, Some(unusable));
    let report = report.recv_timeout(PATIENCE).unwrap();
    assert_eq!(failed(&report).0, FailureKind::NotAllowed);
    // A signer that stays away: the deadline comes.
    world
        .signer
        .answers
        .lock()
        .extend((0..10_000).map(|_| away()));
    let report = world.send_signed(url(&fsp), WhileAway::Wait, 200, wanted());
    let report = report.recv_timeout(PATIENCE).unwrap();
    assert_eq!(failed(&report).0, FailureKind::TimedOut);
    assert_eq!(fsp.met.load(Ordering::SeqCst), 0);
}
