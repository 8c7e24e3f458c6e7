//! A certificate authority for demonstrations, measurements and tests: it certifies the switch and its FSPs, all of them
//! on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams,
    CertificateSigningRequestParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};

use crate::tls::FspTls;

/// An authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// What an authority issued: PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// Its serial number.
    pub serial: u64,
}

/// What is special in a certificate.
#[derive(Clone, Debug, Default)]
pub struct Special {
    /// Whether it expired long ago.
    pub expired: bool,
    /// For how many days it is valid; many years unless it is set.
    pub days: Option<u32>,
    /// A second common name.
    pub second_name: Option<String>,
}

impl Authority {
    /// A new one of this name.
    ///
    /// # Errors
    /// When its key or certificate cannot be made.
    pub fn new(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer })
    }

    /// Its own certificate, as PEM.
    #[must_use]
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate with this common name, for a server and client on this machine.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn issue(&self, name: &str) -> Result<Issued, rcgen::Error> {
        self.issue_special(name, &Special::default())
    }

    /// The same with something special.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn issue_special(&self, name: &str, special: &Special) -> Result<Issued, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(second) = &special.second_name {
            // The type of a name can occur once in rcgen's names, so the second one is spelled by its id.
            let common_name = DnType::CustomDnType(vec![2, 5, 4, 3]);
            params.distinguished_name.push(common_name, second.as_str());
        }
        params.subject_alt_names = vec![
            SanType::IpAddress([127, 0, 0, 1].into()),
            SanType::DnsName(Ia5String::try_from("localhost")?),
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if special.expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        if let Some(days) = special.days {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let left = Duration::from_secs(u64::from(days) * 86_400);
            params.not_after = date_time_ymd(1970, 1, 1) + now.unwrap_or_default() + left;
        }
        let serial = rand::random::<u64>() >> 1;
        params.serial_number = Some(SerialNumber::from(serial));
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            serial,
        })
    }

    /// The certificate of a request (PKCS #10 as PEM), with the names and uses that the request asks for, as PEM.
    ///
    /// # Errors
    /// When it is no request.
    pub fn certify(&self, request: &str) -> Result<String, rcgen::Error> {
        let request = CertificateSigningRequestParams::from_pem(request)?;
        Ok(request.signed_by(&self.issuer)?.pem())
    }

    /// A revocation list with these certificates' serial numbers, as PEM.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn revoke(&self, serials: &[u64]) -> Result<String, rcgen::Error> {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(serials.len() as u64 + 1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer)?.pem()
    }

    /// The TLS of an FSP whose certificate this authority issued.
    #[must_use]
    pub fn fsp(&self, issued: &Issued) -> FspTls {
        FspTls {
            certificate: issued.certificate.clone(),
            key: issued.key.clone(),
            ca: self.certificate(),
        }
    }
}

/// The certificates of a scheme on this machine.
pub struct SchemePki {
    /// The authority.
    pub authority: Authority,
    /// The hub's certificate.
    pub hub: Issued,
    /// The participants' certificates, by their ids.
    pub participants: BTreeMap<String, Issued>,
}

impl SchemePki {
    /// Certificates for the hub and these participants.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn new<'a>(participants: impl IntoIterator<Item = &'a str>) -> Result<Self, rcgen::Error> {
        let authority = Authority::new("an authority for tests")?;
        let hub = authority.issue("hub")?;
        let mut all = BTreeMap::new();
        for id in participants {
            all.insert(id.to_owned(), authority.issue(id)?);
        }
        Ok(Self {
            authority,
            hub,
            participants: all,
        })
    }

    /// The TLS of a participant's FSP.
    #[must_use]
    pub fn fsp(&self, id: &str) -> Option<FspTls> {
        Some(self.authority.fsp(self.participants.get(id)?))
    }

    /// Write the host's files to a folder: `ca.pem`, `hub.pem`, `hub.key`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (name, text) in [
            ("ca.pem", &self.authority.certificate()),
            ("hub.pem", &self.hub.certificate),
            ("hub.key", &self.hub.key),
        ] {
            write_private(&folder.join(name), text)?;
        }
        Ok(())
    }
}

/// Write a file that nobody else can read. It is replaced whole.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&new)?.write_all(text.as_bytes())?;
    fs::rename(new, path)
}
