//! `certificates`: client certificates from the host's own authority. Its private key is a key of the host at a provider.

use rialto_certificates::{BadAuthority, Draft, Request, Subject};
use rialto_keys::{HOST, KeyError};

use crate::bindings::rialto::host::certificates::{
    Certificate, CertificateError, Host, RequestedKey,
};
use crate::guest::Guest;

/// Random bytes of a serial number.
const SERIAL_BYTES: usize = 16;

type Answer<T> = wasmtime::Result<Result<T, CertificateError>>;

impl Host for Guest {
    fn judge(&mut self, request: String) -> Answer<RequestedKey> {
        self.turn()?;
        if self.identity.authority.is_none() {
            return Ok(Err(CertificateError::NoAuthority));
        }
        Ok(read(&request).map(|request| RequestedKey {
            kind: request.kind().to_owned(),
            fingerprint: request.fingerprint().to_owned(),
        }))
    }

    fn issue(&mut self, name: String, request: String) -> Answer<Certificate> {
        let mut serial = [0; SERIAL_BYTES];
        self.turn()?.random(&mut serial);
        let now = self.turn_ref()?.now().0;
        let identity = self.identity.clone();
        let Some(authority) = &identity.authority else {
            return Ok(Err(CertificateError::NoAuthority));
        };
        let request = match read(&request) {
            Ok(request) => request,
            Err(error) => return Ok(Err(error)),
        };
        let subject = Subject {
            name: &name,
            serial,
            now: now / 1_000,
        };
        let draft = match authority.authority.draft(&request, &subject) {
            Ok(draft) => draft,
            Err(error @ BadAuthority::Name) => {
                return Ok(Err(CertificateError::BadRequest(error.to_string())));
            }
            Err(error) => return Ok(Err(CertificateError::AuthorityAway(error.to_string()))),
        };
        let message = draft.message().to_vec();
        let signature = self.signs(HOST, authority.reference.clone(), now, message)?;
        signed(&draft, signature)
    }
}

fn read(request: &str) -> Result<Request, CertificateError> {
    Request::read(request).map_err(|error| CertificateError::BadRequest(error.to_string()))
}

/// The certificate with its signature. A key that is not the certificate's is a mistake of the host's operator.
fn signed(draft: &Draft, signature: Result<Vec<u8>, KeyError>) -> Answer<Certificate> {
    let away = |why: String| {
        tracing::error!("the authority that certifies clients cannot sign: {why}");
        Ok(Err(CertificateError::AuthorityAway(why)))
    };
    let signature = match signature {
        Ok(signature) => signature,
        Err(error) => return away(error.to_string()),
    };
    match draft.signed(&signature) {
        Ok(issued) => Ok(Ok(Certificate {
            certificate: issued.certificate,
            serial: issued.serial,
            not_after: issued.not_after.saturating_mul(1_000),
        })),
        Err(error) => away(error.to_string()),
    }
}
