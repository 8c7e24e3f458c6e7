//! Who may pass requests, and what a client has proven.

use rialto_tls::{ClientCertificates, OutboundTls, Protocol};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::ask;
use crate::hosts::{Authority, Host, Made, hosts_tls, listener, telling};

/// Send bytes to a host's address for hosts, over TLS with this certificate. Returns what it says, empty if it refuses.
async fn intrude(tls: &OutboundTls, host: &Host) -> Vec<u8> {
    let stream = TcpStream::connect(host.relay).await.unwrap();
    let Ok(mut stream) = tls.connect(host.relay, stream, Protocol::Http2).await else {
        return Vec::new();
    };
    let _ = stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await;
    let mut said = vec![0; 9];
    let read = stream.read(&mut said).await.unwrap_or_default();
    said.truncate(read);
    said
}

#[tokio::test]
async fn only_hosts_of_the_scheme_pass_requests() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, another) = (Authority::new(), Authority::new());
    let first = Host::start(Made {
        hosts: Some(hosts_tls(authority.issue(folder.path(), "first"))),
        ..Made::default()
    })
    .await;
    first.door.open(telling("first"));
    let files = authority.issue(folder.path(), "second");
    let second = Host::start(Made {
        hosts: Some(hosts_tls(files.clone())),
        ..Made::default()
    })
    .await;
    second.serves.send_replace(Some(first.relay));
    let answer = ask(second.clients, "GET /a HTTP/1.1", b"").await;
    assert!(answer.contains("first GET /a"), "{answer}");
    // The same bytes of one whom the authority has certified, of somebody else, and of nobody.
    let own = OutboundTls::read(files.clone(), Vec::new()).unwrap();
    assert!(!intrude(&own, &first).await.is_empty());
    let mut foreign = another.issue(folder.path(), "foreign");
    foreign.ca.clone_from(&files.ca);
    let foreign = OutboundTls::read(foreign, Vec::new()).unwrap();
    assert_eq!(intrude(&foreign, &first).await, b"");
    let mut nobody = files;
    nobody.identity = None;
    let nobody = OutboundTls::read(nobody, Vec::new()).unwrap();
    assert_eq!(intrude(&nobody, &first).await, b"");
}

#[tokio::test]
async fn a_host_passes_nothing_to_one_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, another) = (Authority::new(), Authority::new());
    let false_host = Host::start(Made {
        hosts: Some(hosts_tls(another.issue(folder.path(), "false"))),
        ..Made::default()
    })
    .await;
    false_host.door.open(telling("false"));
    let host = Host::start(Made {
        hosts: Some(hosts_tls(authority.issue(folder.path(), "true"))),
        patience: std::time::Duration::from_millis(100),
        ..Made::default()
    })
    .await;
    host.serves.send_replace(Some(false_host.relay));
    let answer = ask(host.clients, "GET /a HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
}

#[tokio::test]
async fn what_a_client_has_proven_is_verified_by_the_host_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let (clients, another) = (Authority::new(), Authority::new());
    let of = |authority: &Authority, name: &str| {
        let files = authority.issue(folder.path(), name);
        listener(&files, Protocol::Http1, ClientCertificates::Optional)
    };
    let start = async |tls| {
        Host::start(Made {
            tls: Some(tls),
            ..Made::default()
        })
        .await
    };
    let first = start(of(&clients, "first")).await;
    first.door.open(telling("first"));
    let second = start(of(&clients, "second")).await;
    second.serves.send_replace(Some(first.relay));
    let client = OutboundTls::read(clients.issue(folder.path(), "somebody"), Vec::new()).unwrap();
    let answer = secretly(&client, &second).await;
    assert!(answer.contains("Some(\"somebody\")"), "{answer}");
    // A host with other authorities takes the same chain for nothing.
    let third = start(of(&another, "third")).await;
    third.door.open(telling("third"));
    second.serves.send_replace(Some(third.relay));
    let answer = secretly(&client, &second).await;
    assert!(answer.contains("third GET"), "{answer}");
    assert!(answer.contains("not issued by an authority"), "{answer}");
}

#[tokio::test]
async fn a_listener_that_requires_certificates_takes_those_of_its_own_host_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (clients, another) = (Authority::new(), Authority::new());
    let start = async |authority: &Authority, name: &'static str| {
        let files = authority.issue(folder.path(), name);
        let tls = listener(&files, Protocol::Http1, ClientCertificates::Required);
        let host = Host::start(Made {
            tls: Some(tls),
            ..Made::default()
        })
        .await;
        host.door.open(telling(name));
        host
    };
    let (same, other) = (
        start(&clients, "same").await,
        start(&another, "other").await,
    );
    let asked = start(&clients, "asked").await;
    asked.door.pass().await;
    let client = OutboundTls::read(clients.issue(folder.path(), "somebody"), Vec::new()).unwrap();
    asked.serves.send_replace(Some(same.relay));
    let answer = secretly(&client, &asked).await;
    assert!(answer.contains("same GET /a"), "{answer}");
    asked.serves.send_replace(Some(other.relay));
    let answer = secretly(&client, &asked).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

/// Ask a host's listener over TLS.
async fn secretly(tls: &OutboundTls, host: &Host) -> String {
    let stream = TcpStream::connect(host.clients).await.unwrap();
    let stream = tls.connect(host.clients, stream, Protocol::Http1).await;
    let mut stream = stream.unwrap();
    let request = b"GET /a HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}
