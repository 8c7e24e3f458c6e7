//! Checkpoints: their text, and whose signature they need.

use rialto_audit::{BadCheckpoint, Checkpoint, Hash, Tree};

use crate::support::{Key, ORIGIN, checkpoint};

fn tree() -> Tree {
    let mut tree = Tree::default();
    tree.append(Hash::of_entry(b"one"));
    tree
}

#[test]
fn text_is_that_of_the_format() {
    let (key, tree) = (Key::new(), tree());
    let note = key.sign(&tree);
    let other = tlog_tiles::Checkpoint::from_bytes(note.split_once("\n\n").unwrap().0.as_bytes());
    // The other implementation takes the text with its last line end.
    assert!(other.is_err());
    let text = &note[..note.find("\n\n").unwrap() + 1];
    let other = tlog_tiles::Checkpoint::from_bytes(text.as_bytes()).unwrap();
    assert_eq!((other.origin(), other.size()), (ORIGIN, 1));
    assert_eq!(other.hash().0, tree.root().0);
    let verified = Checkpoint::verified(&note, &key.public());
    assert_eq!(verified, Ok(checkpoint(&tree)));
}

#[test]
fn only_the_logs_key_counts() {
    let (key, other) = (Key::new(), Key::new());
    let note = key.sign(&tree());
    let verified = |note: &str| Checkpoint::verified(note, &key.public());
    assert_eq!(verified(&other.sign(&tree())), Err(BadCheckpoint::OtherKey));
    // Signatures of others beside the log's own change nothing.
    let line = "\u{2014} witness.example AAAAAAAA\n";
    verified(&format!("{note}{line}")).unwrap();
    // Another's signature in the log's name.
    let (text, signature) = note.split_once("\n\n").unwrap();
    let foreign = signature.replace(ORIGIN, "hub.example/other");
    let foreign = format!("{text}\n\n{foreign}");
    assert_eq!(verified(&foreign), Err(BadCheckpoint::OtherKey));
    for (from, to) in [("\n1\n", "\n2\n"), ("/audit\n", "/other\n")] {
        let changed = note.replacen(from, to, 1);
        assert_ne!(changed, note);
        assert!(verified(&changed).is_err(), "{changed}");
    }
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let key = Key::new();
    let note = key.sign(&tree());
    let (text, signatures) = note.split_once("\n\n").unwrap();
    let lines: Vec<&str> = text.split('\n').collect();
    let [origin, size, root] = lines[..] else {
        panic!("{text}")
    };
    for bad in [
        String::new(),
        "\n\n".to_owned(),
        text.to_owned(),
        format!("{text}\n\n"),
        format!("{text}\n{signatures}"),
        format!("{origin}\n{size}\n\n{signatures}"),
        format!("{origin}\n0{size}\n{root}\n\n{signatures}"),
        format!("{origin}\n-1\n{root}\n\n{signatures}"),
        format!("{origin}\n18446744073709551616\n{root}\n\n{signatures}"),
        format!("{origin}\n{size}\nAAAA\n\n{signatures}"),
        format!("\n{size}\n{root}\n\n{signatures}"),
        format!("two words\n{size}\n{root}\n\n{signatures}"),
        format!("{text}\n\n{}", signatures.trim_end()),
        format!("{text}\n\n\u{2014} {origin} AAAA\n"),
        format!("{text}\n\n- {origin} AAAAAAAA\n"),
        note.replace('\n', "\r\n"),
        format!("{note}{}", " ".repeat(1 << 16)),
    ] {
        let outcome = Checkpoint::verified(&bad, &key.public());
        assert_eq!(outcome, Err(BadCheckpoint::Malformed), "{bad:?}");
    }
    for origin in ["", "a b", "a+b", "a\n"] {
        let unsigned = Checkpoint {
            origin: origin.to_owned(),
            ..checkpoint(&tree())
        };
        assert_eq!(unsigned.unsigned().unwrap_err(), BadCheckpoint::Origin);
    }
    let unsigned = checkpoint(&tree()).unsigned().unwrap();
    let signature = Key::new().signature(unsigned.message());
    let signed = unsigned.signed(&key.public(), &signature);
    assert_eq!(signed, Err(BadCheckpoint::BadSignature));
}
