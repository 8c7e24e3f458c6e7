//! Files of TLS in a folder, and handshakes in memory.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use rialto_tls::{
    AuthorityFiles, BadTls, ClientCertificate, ClientCertificates, ListenerFiles, ListenerTls,
    Protocol,
};
use tempfile::TempDir;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Longer than anything here takes, unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Place {
    folder: TempDir,
    pub authority: CertifiedIssuer<'static, KeyPair>,
}

impl Place {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
            authority,
        };
        let (certificate, key) = place.issue("hub", None);
        place.write("hub.pem", &certificate, 0o644);
        place.write("hub.key", &key, 0o600);
        place.write("ca.pem", &place.authority.pem(), 0o644);
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str, mode: u32) {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A certificate and its key; it ends at this time, in seconds since 1970.
    pub fn issue(&self, name: &str, until: Option<u64>) -> (String, String) {
        let mut params = CertificateParams::new(vec!["hub.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if let Some(until) = until {
            params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(until);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub fn files(&self) -> ListenerFiles {
        let file = |name: &str| self.path().join(name);
        ListenerFiles {
            certificate: file("hub.pem"),
            key: file("hub.key").into(),
            clients: Some(AuthorityFiles {
                certificates: file("ca.pem"),
                revocations: None,
            }),
            clients_of: [].into(),
            own_authority: None,
        }
    }

    pub fn listener(&self) -> Result<ListenerTls, BadTls> {
        let optional = ClientCertificates::Optional;
        ListenerTls::read(self.files(), Protocol::Http1, optional)
    }

    /// The client's certificate as the listener sees it after a handshake.
    pub async fn connected(&self, (certificate, key): (String, String)) -> ClientCertificate {
        self.shown(&[certificate], &key).await.unwrap()
    }

    /// The same for a chain, the client's own first. The error is the listener's.
    pub async fn shown(&self, chain: &[String], key: &str) -> io::Result<ClientCertificate> {
        let listener = Arc::new(self.listener().unwrap());
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                chain
                    .iter()
                    .map(|one| CertificateDer::from_pem_slice(one.as_bytes()).unwrap())
                    .collect(),
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        let (near, far) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from("hub.example").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let (client, server) = tokio::join!(connector.connect(name, far), listener.accept(near));
        let (_, certificate) = server?;
        client.unwrap();
        Ok(certificate.unwrap())
    }

    /// A chain with so many authorities between the client's certificate and this one, and the client's key.
    pub fn chain(&self, authorities: usize) -> (Vec<String>, String) {
        let mut chain = Vec::new();
        let mut last: Option<CertifiedIssuer<'static, KeyPair>> = None;
        let parameters = |name: &str| {
            let mut params = CertificateParams::new(vec!["hub.example".to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params
        };
        for n in 0..authorities {
            let mut params = parameters(&format!("authority {n}"));
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let above = last.as_deref().unwrap_or(&self.authority);
            let next = CertifiedIssuer::signed_by(params, key, above).unwrap();
            chain.insert(0, next.pem());
            last = Some(next);
        }
        let mut params = parameters("fsp");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let above = last.as_deref().unwrap_or(&self.authority);
        chain.insert(0, params.signed_by(&key, above).unwrap().pem());
        (chain, key.serialize_pem())
    }
}
