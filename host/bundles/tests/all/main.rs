//! Bundles as files and in registries, honest ones and changed ones.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod damage;
mod files;
mod places;
mod registries;

use rialto_bundles::{About, Bundle, BundlePath, Component, ComponentKind, Content, Kind, Limits};

fn path(text: &str) -> BundlePath {
    text.parse().unwrap()
}

fn about() -> About {
    About {
        kind: Kind::Rule,
        name: "ceiling".to_owned(),
        release: None,
        components: vec![Component {
            name: "ceiling".to_owned(),
            kind: ComponentKind::Rule,
            path: path("ceiling.wasm"),
            limits: Limits {
                memory_bytes: 4 << 20,
                deadline_ms: 50,
                fuel: Some(50_000_000),
                instances: None,
            },
        }],
    }
}

/// A bundle with a file of each kind.
fn bundle() -> Bundle {
    let mut bundle = Bundle::new(about());
    let world = Content::World {
        of: path("ceiling.wasm"),
    };
    let case = || Content::Case {
        of: "ceiling".to_owned(),
    };
    let files: [(&str, Content, &[u8]); 7] = [
        ("ceiling.wasm", Content::Component, &[0x61; 700]),
        ("binding.toml", Content::Binding, b"[rules.ceiling]\n"),
        ("worlds/ceiling.wit", world, b"package root:component;\n"),
        ("cases/allow.json", case(), b"{}"),
        // The same bytes, which are one blob.
        ("cases/refuse.json", case(), b"{}"),
        ("plan.json", Content::Plan, b"{\"form\":1}\n"),
        ("signatures/anna.sig", Content::Signature, b"{}\n"),
    ];
    for (name, content, bytes) in files {
        bundle.add(path(name), content, bytes.to_vec()).unwrap();
    }
    bundle
}
