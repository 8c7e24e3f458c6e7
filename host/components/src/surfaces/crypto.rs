//! `crypto`: verifies signatures, and has messages signed. Components never see the keys.

use rialto_engine::network::OwnSignature;
use rialto_keys as keys;
use rialto_signatures as signatures;

use crate::bindings::rialto::host::crypto::{self as wit, Algorithm, Host, Signed, Verdict};
use crate::bindings::rialto::host::http::OutboundRequest;
use crate::guest::Guest;
use crate::headers::is_the_hosts;

impl Host for Guest {
    fn has_key(&mut self, signer: String) -> wasmtime::Result<bool> {
        self.turn()?;
        Ok(self.identity.signers.has_key(&signer))
    }

    fn verify(
        &mut self,
        signer: String,
        algorithm: Algorithm,
        protected_header: String,
        payload: String,
        signature: String,
    ) -> wasmtime::Result<Verdict> {
        self.turn()?;
        let verdict = self.identity.signers.verify(
            &signer,
            algorithm.into(),
            &protected_header,
            payload.as_bytes(),
            &signature,
        );
        Ok(match verdict {
            signatures::Verdict::Valid => Verdict::Valid,
            signatures::Verdict::Invalid => Verdict::Invalid,
            signatures::Verdict::NoKey => Verdict::NoKey,
        })
    }

    fn has_own_key(&mut self) -> wasmtime::Result<bool> {
        self.turn()?;
        let identity = &self.identity;
        Ok(identity.keys.own().is_some() || identity.signers.has_own_key())
    }

    fn send_signed(
        &mut self,
        request: OutboundRequest,
        signature: wit::OwnSignature,
    ) -> wasmtime::Result<u64> {
        let signature = own_signature(signature);
        let signature =
            signature.map_err(|why| wasmtime::format_err!("`crypto.send-signed`: {why}"))?;
        self.stage(request, Some(signature))
    }

    fn sign(&mut self, members: String, payload: String) -> wasmtime::Result<Option<Signed>> {
        self.turn()?;
        if let Some(own) = self.identity.keys.own() {
            return self.sign_at_provider(&own, &members, &payload).map(Some);
        }
        let signed = self.identity.signers.sign(&members, payload.as_bytes());
        let signed = signed.map_err(|error| wasmtime::format_err!("`crypto.sign`: {error}"))?;
        Ok(signed.map(|signed| Signed {
            protected_header: signed.protected_header,
            signature: signed.signature,
        }))
    }
}

impl Guest {
    /// Sign with the host's own key at its provider. A signature that cannot be made fails the turn: without it the
    /// message would leave unsigned.
    fn sign_at_provider(
        &mut self,
        own: &keys::OwnKey,
        members: &str,
        payload: &str,
    ) -> wasmtime::Result<Signed> {
        let algorithm = match own.algorithm {
            keys::Algorithm::Es256 => signatures::Algorithm::Es256,
            _ => signatures::Algorithm::Rs256,
        };
        let unsigned = signatures::jws::unsigned(algorithm, members, payload.as_bytes())
            .map_err(|error| wasmtime::format_err!("`crypto.sign`: {error}"))?;
        let now = self.turn_ref()?.now().0;
        let (reference, input) = (own.reference.clone(), unsigned.input.clone().into_bytes());
        let signature = self.signs(keys::HOST, reference, now, input)?;
        let signature = signature
            .map_err(|error| wasmtime::format_err!("`crypto.sign`, with the hub's key: {error}"))?;
        let signed = unsigned.signed(&signature);
        Ok(Signed {
            protected_header: signed.protected_header,
            signature: signed.signature,
        })
    }
}

fn own_signature(wanted: wit::OwnSignature) -> Result<OwnSignature, String> {
    signatures::jws::check_members(&wanted.members).map_err(|error| error.to_string())?;
    let header = wanted.header.to_ascii_lowercase();
    if is_the_hosts(&header) {
        return Err(format!("only the host sets the header `{header}`"));
    }
    Ok(OwnSignature {
        header,
        members: wanted.members,
    })
}

impl From<Algorithm> for signatures::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Rs256 => Self::Rs256,
            Algorithm::Rs384 => Self::Rs384,
            Algorithm::Rs512 => Self::Rs512,
            Algorithm::Es256 => Self::Es256,
        }
    }
}
