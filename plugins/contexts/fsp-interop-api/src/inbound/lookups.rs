//! Messages about participants and parties.

use super::quotes::PartyIdInfoBody;
use super::values::{ErrorObject, check_identifier, check_segment};
use super::{Examined, Inbound, events};
use crate::headers::named_destination;
use events::participants_association_request_received::RequestedParty;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, PartyId};
use rialto_sdk::errors::error;
use rialto_sdk::messages::is_same_party;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Association<'a> {
    fsp_id: &'a str,
    currency: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Associations<'a> {
    request_id: &'a str,
    #[serde(borrow)]
    party_list: Vec<PartyIdInfoBody<'a>>,
    currency: Option<&'a str>,
}

#[derive(Deserialize)]
struct PartyAnswer<'a> {
    #[serde(borrow)]
    party: PartyTold<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartyTold<'a> {
    #[serde(borrow)]
    party_id_info: PartyIdInfoBody<'a>,
}

impl Examined<'_> {
    pub(super) fn associate_party(
        self,
    ) -> Result<events::participant_association_request_received::Event, ErrorInformation> {
        let party = self.party()?;
        let Association { fsp_id, currency } = self.members()?;
        let currency = self.currency(currency, "body /currency")?;
        Ok(events::participant_association_request_received::Event {
            party,
            fsp: fsp_id.to_owned(),
            currency,
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    /// Many parties at once. A party with a bad identifier does not affect the others.
    pub(super) fn associate_parties(
        self,
    ) -> Result<events::participants_association_request_received::Event, ErrorInformation> {
        let body: Associations = self.members()?;
        let currency = self.currency(body.currency, "body /currency")?;
        let parties = body.party_list.iter().map(|asked| {
            let party = asked.party_id();
            RequestedParty {
                error: check_party(&party).err(),
                fsp: asked.fsp_id.unwrap_or(&self.source).to_owned(),
                party,
            }
        });
        Ok(events::participants_association_request_received::Event {
            request_id: body.request_id.to_owned(),
            parties: parties.collect(),
            currency,
            requester_fsp: self.source.clone(),
            message: self.into_answerable(),
        })
    }

    pub(super) fn disassociate_party(
        self,
    ) -> Result<events::participant_disassociate_request_received::Event, ErrorInformation> {
        Ok(events::participant_disassociate_request_received::Event {
            party: self.party()?,
            currency: self.currency_asked()?,
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    pub(super) fn query_participant(
        self,
    ) -> Result<events::participant_query_received::Event, ErrorInformation> {
        Ok(events::participant_query_received::Event {
            party: self.party()?,
            currency: self.currency_asked()?,
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    pub(super) fn query_party(
        self,
    ) -> Result<events::party_query_received::Event, ErrorInformation> {
        Ok(events::party_query_received::Event {
            party: self.party()?,
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        })
    }

    /// An answer to a party query. The requester pays the party and the FSP in the answer. So an answer is only
    /// forwarded if it names the requested party and its own sender.
    pub(super) fn answer_party(self) -> Result<Inbound, ErrorInformation> {
        let party = self.party()?;
        let PartyAnswer { party: told } = self.members()?;
        let told = told.party_id_info;
        let wrong = if told.fsp_id.is_some_and(|named| named != self.source) {
            Some("body /party/partyIdInfo/fspId: must be the sender (FSPIOP-Source)")
        } else if !is_same_party(&told.party_id(), &party) {
            Some("body /party/partyIdInfo: must be the party in the path")
        } else {
            None
        };
        if let Some(detail) = wrong {
            return Ok(Inbound::RefuseAnswer(events::party_info_refused::Event {
                party,
                error: error("3101", detail),
                destination_fsp: self.destination(),
                requester_fsp: self.source.clone(),
                message: self.into_message(),
            }));
        }
        Ok(Inbound::AnswerParty(self.party_info(party, None)))
    }

    /// An error as the answer to a party query.
    pub(super) fn refuse_party(
        self,
    ) -> Result<events::party_info_available::Event, ErrorInformation> {
        let party = self.party()?;
        let refusal = self.members::<ErrorObject>()?.read()?;
        Ok(self.party_info(party, Some(refusal)))
    }

    fn party_info(
        self,
        party: PartyId,
        error: Option<ErrorInformation>,
    ) -> events::party_info_available::Event {
        events::party_info_available::Event {
            party,
            error,
            destination_fsp: self.destination(),
            requester_fsp: self.source.clone(),
            message: self.into_message(),
        }
    }

    /// The party of the path.
    fn party(&self) -> Result<PartyId, ErrorInformation> {
        let id_type = self.path_parameter("Type")?;
        let identifier = self.path_parameter("ID")?;
        check_identifier("path ID", &id_type, &identifier)?;
        let sub_id_or_type = self.path_parameter("SubId").ok();
        if let Some(sub_id) = &sub_id_or_type {
            check_segment("path SubId", sub_id)?;
        }
        Ok(PartyId {
            id_type,
            identifier,
            sub_id_or_type,
        })
    }

    /// The destination, if the sender knew it.
    pub(super) fn destination(&self) -> Option<String> {
        named_destination(&self.headers, &self.scheme.hub).map(str::to_owned)
    }

    fn currency_asked(&self) -> Result<Option<String>, ErrorInformation> {
        let parameters = &self.request.query_parameters;
        let asked = parameters.iter().find(|(name, _)| name == "currency");
        self.currency(asked.map(|(_, value)| value.as_str()), "query currency")
    }

    fn currency(
        &self,
        code: Option<&str>,
        location: &str,
    ) -> Result<Option<String>, ErrorInformation> {
        match code {
            Some(code) if self.scheme.scale_of(code).is_none() => Err(error(
                "3100",
                &format!("{location}: {code} is not a currency of this scheme"),
            )),
            code => Ok(code.map(str::to_owned)),
        }
    }
}

/// Checks that a path can name the party of a body.
pub(super) fn check_party(party: &PartyId) -> Result<(), ErrorInformation> {
    check_identifier("partyIdentifier", &party.id_type, &party.identifier)?;
    let sub_id = party.sub_id_or_type.as_deref();
    sub_id.map_or(Ok(()), |sub_id| check_segment("partySubIdOrType", sub_id))
}
