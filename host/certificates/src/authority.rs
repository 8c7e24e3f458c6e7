//! The authority: its certificate, and what it certifies.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, SerialNumber, SubjectPublicKeyInfo, date_time_ymd,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::parse_x509_pem;

use crate::draft::Draft;
use crate::request::Request;

/// The longest common name, in characters (RFC 5280, appendix A).
pub const NAME_CHARACTERS_MAX: usize = 64;
/// How long an authority's own certificate is valid.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// How long before its making a certificate is valid, for clocks that are late.
const LATE_CLOCKS: Duration = Duration::from_secs(5 * 60);
/// Random bytes of a serial number. With the first bit set to 0, 20 bytes are its greatest length (RFC 5280, 4.1.2.2).
const SERIAL_BYTES: usize = 16;

/// Why a certificate is none of an authority, or cannot certify.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAuthority {
    /// The text is no certificate.
    #[error("it is not one certificate as PEM")]
    Unreadable,
    /// It must not issue certificates.
    #[error("it is no certificate of an authority")]
    NoAuthority,
    /// Its key is of another kind.
    #[error("its key is of a kind that cannot sign here")]
    Key,
    /// It has expired.
    #[error("it has expired: make another authority")]
    Expired,
    /// The name cannot stand in a certificate.
    #[error("the name must be 1 to {NAME_CHARACTERS_MAX} printable ASCII characters")]
    Name,
}

/// The authority's certificate.
#[derive(Clone, Debug)]
pub struct Authority {
    /// PEM.
    certificate: String,
    key: SubjectPublicKeyInfo,
    /// UTC, seconds since 1970.
    not_after: u64,
    /// How long its certificates are valid.
    lifetime: Duration,
}

/// Who gets a certificate, and when.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The one common name.
    pub name: &'a str,
    /// Random bytes for the serial number.
    pub serial: [u8; SERIAL_BYTES],
    /// UTC, seconds since 1970.
    pub now: u64,
}

impl Authority {
    /// Read an authority's certificate, as PEM. Its certificates are valid for `lifetime`.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(text: &str, lifetime: Duration) -> Result<Self, BadAuthority> {
        let unreadable = || BadAuthority::Unreadable;
        let (rest, pem) = parse_x509_pem(text.as_bytes()).map_err(|_| unreadable())?;
        if !rest.trim_ascii().is_empty() {
            return Err(unreadable());
        }
        let certificate = pem.parse_x509().map_err(|_| unreadable())?;
        if !may_certify(&certificate) {
            return Err(BadAuthority::NoAuthority);
        }
        let key = SubjectPublicKeyInfo::from_der(certificate.public_key().raw);
        let key = key.map_err(|_| BadAuthority::Key)?;
        let not_after = certificate.validity().not_after.timestamp();
        Ok(Self {
            certificate: text.to_owned(),
            key,
            not_after: u64::try_from(not_after).unwrap_or_default(),
            lifetime,
        })
    }

    /// The certificate of a new authority of this name with this public key (SubjectPublicKeyInfo as PEM), to be signed
    /// by its own private key. It certifies clients alone, and no other authority.
    ///
    /// # Errors
    /// When the name or the key cannot be used.
    pub fn begin(public_key: &str, subject: &Subject<'_>) -> Result<Draft, BadAuthority> {
        let key = SubjectPublicKeyInfo::from_pem(public_key).map_err(|_| BadAuthority::Key)?;
        let not_after = subject.now.saturating_add(AUTHORITY_LIFETIME.as_secs());
        let mut params = params(subject, not_after)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Draft::new(params, key.clone(), (None, key))
    }

    /// The client certificate for the key of a request, to be signed by the authority's private key. Of the request
    /// nothing else goes into it. It does not outlive the authority's own certificate.
    ///
    /// # Errors
    /// When the name cannot be used, or the authority has expired.
    pub fn draft(&self, request: &Request, subject: &Subject<'_>) -> Result<Draft, BadAuthority> {
        if self.not_after <= subject.now {
            return Err(BadAuthority::Expired);
        }
        let not_after = subject.now.saturating_add(self.lifetime.as_secs());
        let mut params = params(subject, not_after.min(self.not_after))?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let issuer = (Some(self.certificate.clone()), self.key.clone());
        Draft::new(params, request.key.clone(), issuer)
    }
}

/// What all certificates have.
fn params(subject: &Subject<'_>, not_after: u64) -> Result<CertificateParams, BadAuthority> {
    let is_printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let name = subject.name;
    if name.is_empty() || name.len() > NAME_CHARACTERS_MAX || !name.bytes().all(is_printable) {
        return Err(BadAuthority::Name);
    }
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let instant = |seconds| date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds);
    params.not_before = instant(subject.now.saturating_sub(LATE_CLOCKS.as_secs()));
    params.not_after = instant(not_after);
    let mut serial = subject.serial;
    // A positive number of all 16 bytes.
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(params)
}

/// Whether a certificate is one of an authority.
fn may_certify(certificate: &X509Certificate<'_>) -> bool {
    let basic = certificate.basic_constraints().ok().flatten();
    let usage = certificate.key_usage().ok().flatten();
    basic.is_some_and(|basic| basic.value.ca)
        && usage.is_none_or(|usage| usage.value.key_cert_sign())
}
