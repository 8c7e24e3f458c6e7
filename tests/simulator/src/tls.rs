//! TLS of an FSP: one certificate, with which it serves and by which the switch knows it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The files of an FSP's TLS, as PEM texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FspTls {
    /// The FSP's certificate, with the intermediate ones. It serves with it, and shows it to the switch.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// The authority that must have certified the switch, as server and as client.
    pub ca: String,
}

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A text is not valid PEM.
    #[error("malformed PEM: {0}")]
    Pem(#[from] pem::Error),
    /// The certificate, the key or the authority cannot be used.
    #[error(transparent)]
    Rustls(#[from] tokio_rustls::rustls::Error),
    /// The authority cannot be used for clients.
    #[error(transparent)]
    Authority(#[from] tokio_rustls::rustls::server::VerifierBuilderError),
}

impl FspTls {
    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.ca.as_bytes()) {
            roots.add(certificate?)?;
        }
        Ok(roots)
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes());
        Ok(chain.collect::<Result<_, _>>()?)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        Ok(PrivateKeyDer::from_pem_slice(self.key.as_bytes())?)
    }

    /// For requests to the switch.
    pub fn client(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(self.roots()?);
        let config = builder.with_client_auth_cert(self.chain()?, self.private_key()?)?;
        Ok(Arc::new(config))
    }

    /// For requests to the switch that show no certificate.
    pub fn client_without_certificate(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(self.roots()?);
        Ok(Arc::new(builder.with_no_client_auth()))
    }

    /// For requests of the switch, which must show a certificate too.
    pub fn server(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let roots = Arc::new(self.roots()?);
        let clients = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = builder.with_client_cert_verifier(clients.build()?);
        Ok(Arc::new(
            builder.with_single_cert(self.chain()?, self.private_key()?)?,
        ))
    }

    /// For requests of everybody.
    pub fn server_for_everybody(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = builder.with_no_client_auth();
        Ok(Arc::new(
            builder.with_single_cert(self.chain()?, self.private_key()?)?,
        ))
    }
}

/// For requests over TLS to whom nobody is known: none of them is made.
pub(crate) fn nobody() -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc has the suites of TLS 1.2 and 1.3");
    let builder = builder.with_root_certificates(RootCertStore::empty());
    Arc::new(builder.with_no_client_auth())
}
