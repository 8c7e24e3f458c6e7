//! No secret gets into a log, an error or a debug text.

use std::fmt::{Debug, Write as _};
use std::sync::Mutex;

use rialto_keys::Algorithm;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::messages::error;
use crate::world::{CLOUD, NOW, OWNER, World, attributes, keys, made};

/// All that is logged, at every level.
static LOGGED: Mutex<String> = Mutex::new(String::new());

struct Log;

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(LOGGED.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Log);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Log);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Log);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn nothing_tells_the_credentials() {
    // For all threads: that of the provider logs too. Other tests add to it.
    tracing::subscriber::set_global_default(Log).unwrap();
    let world = World::new();
    let session = &world.server.session;
    world.write_credentials(session);
    let kms = world.open();
    let keys = keys(&kms);
    let mut told = format!("{kms:?} {keys:?}");
    let pair = made(&keys, CLOUD, Algorithm::Es256).reference;
    let secret = made(&keys, CLOUD, Algorithm::A256Gcm).reference;
    let sealed = keys.encrypt(OWNER, &secret, NOW, b"plain-text", b"");
    keys.decrypt(OWNER, &secret, &sealed.unwrap(), b"").unwrap();
    for name in [
        "ThrottlingException",
        "InvalidSignatureException",
        "AccessDeniedException",
        "KMSInternalException",
    ] {
        world.proxy.give("Sign", error(400, name));
        write!(told, "{:?}", keys.sign(OWNER, &pair, NOW, b"m")).unwrap();
        world.proxy.give("CreateKey", error(500, name));
        let made = keys.generate(OWNER, CLOUD, &attributes(Algorithm::Es256));
        write!(told, "{:?}", made.map(drop)).unwrap();
    }
    told.push_str(&LOGGED.lock().unwrap());
    assert!(told.contains("may have made a key"), "{told}");
    let token = session.token.as_ref().unwrap();
    for hidden in [
        session.secret.as_str(),
        &session.id,
        token,
        "hush",
        "plain-text",
        "AWS4-HMAC-SHA256",
    ] {
        assert!(!told.contains(hidden), "{hidden} in {told}");
    }
}
