//! A client certificate for a participant, from the host's authority. The name in it is the participant's, whatever the
//! request for it says.

use super::{Change, is_in};
use crate::bindings::rialto::host::certificates::CertificateError;
use crate::certificates::{CERTIFICATES, Certificate, id};
use crate::participants::Participant;
use crate::world::{Event, World};
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The requested certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateOrder {
    /// The request of the participant: PKCS #10 as PEM.
    pub certificate_request: String,
}

impl Change for CertificateOrder {
    fn based_on(&self, participant: &Participant) -> Value {
        json!(participant.last_certificate)
    }

    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem> {
        is_in(participant)?;
        let judged = world.judge_certificate(&self.certificate_request);
        judged.map(drop).map_err(problem)
    }

    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        request: &str,
    ) -> Result<Vec<Event>, Problem> {
        let key = world.judge_certificate(&self.certificate_request);
        let key = key.map_err(problem)?;
        let issued = world.issue_certificate(&participant.participant, &self.certificate_request);
        let issued = issued.map_err(problem)?;
        let certificate = Certificate {
            serial: issued.serial.clone(),
            certificate: issued.certificate,
            not_after: issued.not_after,
            key: key.kind,
            fingerprint: key.fingerprint,
            issued_at: world.now(),
            request: request.to_owned(),
            revocation: None,
        };
        let id = id(&participant.participant, &certificate);
        CERTIFICATES.within(world).put(&id, &certificate);
        participant.last_certificate = Some(issued.serial);
        Ok(Vec::new())
    }
}

fn problem(error: CertificateError) -> Problem {
    match error {
        CertificateError::NoAuthority => {
            let detail = "the host has no authority: it needs [certificates] in rialto.toml";
            Problem::new(Kind::AuthorityNotSet, detail)
        }
        CertificateError::BadRequest(why) => {
            let detail = format!("the certificate request cannot be used: {why}");
            Problem::new(Kind::CertificateRequestInvalid, detail)
        }
        CertificateError::AuthorityAway(why) => {
            let detail = format!("the authority cannot sign now: {why}");
            Problem::new(Kind::ProviderAway, detail)
        }
    }
}
