//! TLS: certificates that are right and wrong, of the host and of clients, and renewed while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rialto_grpc_client::Caller;
use rialto_grpc_client::connection::{Trust, connect};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};

use crate::grpc::support::{ALL, Clients, offering, token};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(40);

/// An authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name, and its key.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Put a certificate and its key where rialto.toml names them.
fn install(scheme: &TestScheme, (certificate, key): &(String, String)) {
    write(&scheme.path().join("hub.pem"), certificate, 0o644);
    write(&scheme.path().join("hub.key"), key, 0o600);
}

fn with_tls(more: &str) -> TestScheme {
    offering(&format!(
        "{ALL}\ntls = {{ certificate = \"hub.pem\", key = \"hub.key\"{more} }}\n"
    ))
}

fn trust(authority: &Authority, identity: Option<(String, String)>) -> Trust {
    Trust {
        authority: authority.pem(),
        name: "hub.example".to_owned(),
        identity,
    }
}

/// Ask something with that trust; false if there is no connection to do it on.
async fn answers(host: &RunningHost, scheme: &TestScheme, trust: &Trust) -> bool {
    let caller = Caller::with_token(&token(scheme));
    let Ok(connection) = connect(host.url("grpc").unwrap(), caller, Some(trust)).await else {
        return false;
    };
    let mut clients = Clients::over(connection);
    let request = rialto_grpc_client::api::rialto::participant_lifecycle_management::v0_1::GetParticipantInfoRequest {
        participant: "payerfsp".to_owned(),
    };
    match clients.participants.get_participant_info(request).await {
        Ok(answer) => answer.into_inner().result.is_some(),
        // With TLS 1.3 a client learns that it is not wanted from its first answer.
        Err(_) => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_certificate_is_verified_and_renewed() {
    let (authority, other) = (Authority::new(), Authority::new());
    let scheme = with_tls("");
    install(&scheme, &authority.issue("hub.example"));
    let host = RunningHost::start(&scheme).unwrap();
    assert!(host.url("grpc").unwrap().starts_with("https://"));
    assert!(answers(&host, &scheme, &trust(&authority, None)).await);
    assert!(!answers(&host, &scheme, &trust(&other, None)).await);
    let mut misnamed = trust(&authority, None);
    misnamed.name = "elsewhere.example".to_owned();
    assert!(!answers(&host, &scheme, &misnamed).await);
    let plain = host.url("grpc").unwrap().replace("https://", "http://");
    let unencrypted = connect(&plain, Caller::nobody(), None).await;
    if let Ok(connection) = unencrypted {
        let asked = rialto_grpc_client::reflected::methods(connection).await;
        assert!(asked.is_err(), "plaintext is answered: {asked:?}");
    }

    // What cannot be used leaves what was before.
    write(&scheme.path().join("hub.pem"), "nothing\n", 0o644);
    until("the broken one is seen", SOON, async || {
        let log = host.log();
        Ok(if log.contains("the previous ones stay in use") {
            Ok(())
        } else {
            Err(log)
        })
    })
    .await
    .unwrap();
    assert!(answers(&host, &scheme, &trust(&authority, None)).await);
    install(&scheme, &other.issue("hub.example"));
    until("the new certificate is served", SOON, async || {
        let served = answers(&host, &scheme, &trust(&other, None)).await;
        Ok(if served {
            Ok(())
        } else {
            Err("the old one is".to_owned())
        })
    })
    .await
    .unwrap();
    assert!(!answers(&host, &scheme, &trust(&authority, None)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_authority_for_clients_only_they_come_in() {
    let (authority, clients, other) = (Authority::new(), Authority::new(), Authority::new());
    let scheme = with_tls(", client-ca = \"clients.pem\"");
    install(&scheme, &authority.issue("hub.example"));
    write(&scheme.path().join("clients.pem"), &clients.pem(), 0o644);
    let host = RunningHost::start(&scheme).unwrap();
    let known = clients.issue("switch.example");
    assert!(answers(&host, &scheme, &trust(&authority, Some(known))).await);
    let stranger = other.issue("switch.example");
    assert!(!answers(&host, &scheme, &trust(&authority, Some(stranger))).await);
    assert!(!answers(&host, &scheme, &trust(&authority, None)).await);
}

#[test]
fn host_refuses_open_or_mismatched_tls_keys() {
    let authority = Authority::new();
    let scheme = with_tls("");
    let (certificate, key) = authority.issue("hub.example");
    install(&scheme, &(certificate.clone(), key));
    let path = scheme.path().join("hub.key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let refused = RunningHost::start(&scheme).err().unwrap();
    assert!(
        format!("{refused:#}").contains("is open to others (mode 640)"),
        "{refused:#}"
    );
    let checked = scheme.rialto(&["check"]).unwrap();
    assert_eq!(checked.code, 2, "{checked}");
    assert!(checked.said().contains("is open to others"), "{checked}");
    let (_, other) = authority.issue("hub.example");
    install(&scheme, &(certificate, other));
    let refused = RunningHost::start(&scheme).err().unwrap();
    assert!(
        format!("{refused:#}").contains("cannot be used with the key"),
        "{refused:#}"
    );
}
