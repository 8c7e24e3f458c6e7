//! The scheme's facts as components see them (`configuration.scheme`, and `configuration.scheme-list` for long lists):
//! JSON with camelCase members, amounts as decimal text.

use serde::Serialize;

use crate::scheme::{Scheme, SchemeFile};
use crate::values::{Amount, BaseUrl, CurrencyCode, FspId};

#[derive(Serialize)]
struct Facts<'a> {
    name: &'a str,
    hub: &'a FspId,
    currencies: Vec<CurrencyFacts<'a>>,
    errors: Vec<ErrorFacts<'a>>,
    authentication: &'static str,
}

#[derive(Serialize)]
struct CurrencyFacts<'a> {
    code: &'a CurrencyCode,
    scale: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParticipantFacts<'a> {
    id: &'a FspId,
    name: &'a str,
    callback_base_url: &'a BaseUrl,
    accounts: Vec<AccountFacts<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountFacts<'a> {
    currency: &'a CurrencyCode,
    opening_liquidity: &'a Amount,
    net_debit_cap: Option<&'a Amount>,
    liquidity_threshold: Option<&'a Amount>,
}

#[derive(Serialize)]
struct ErrorFacts<'a> {
    code: &'a str,
    description: &'a str,
}

fn facts(scheme: &SchemeFile) -> Facts<'_> {
    Facts {
        name: scheme.name.as_str(),
        hub: &scheme.hub,
        currencies: scheme
            .currencies
            .iter()
            .map(|currency| CurrencyFacts {
                code: &currency.code,
                scale: currency.scale,
            })
            .collect(),
        errors: scheme
            .errors
            .iter()
            .map(|error| ErrorFacts {
                code: error.code.as_str(),
                description: &error.description,
            })
            .collect(),
        authentication: scheme.authentication.fsps.name(),
    }
}

fn participant(participant: &crate::scheme::Participant) -> ParticipantFacts<'_> {
    ParticipantFacts {
        id: &participant.id,
        name: &participant.name,
        callback_base_url: &participant.callback_base_url,
        accounts: participant
            .accounts
            .iter()
            .map(|account| AccountFacts {
                currency: &account.currency,
                opening_liquidity: &account.opening_liquidity,
                net_debit_cap: account.net_debit_cap.as_ref(),
                liquidity_threshold: account.liquidity_threshold.as_ref(),
            })
            .collect(),
    }
}

impl Scheme {
    /// The JSON text for `configuration.scheme`.
    #[must_use]
    pub fn scheme_json(&self) -> String {
        json(&facts(self))
    }

    /// The lists of `configuration.scheme-list` by their names: the JSON text of each element.
    #[must_use]
    pub fn scheme_lists(&self) -> Vec<(&'static str, Vec<String>)> {
        let participants = self.participants.iter();
        let participants = participants.map(|one| json(&participant(one)));
        vec![("participants", participants.collect())]
    }
}

fn json(facts: &impl Serialize) -> String {
    serde_json::to_string(facts)
        .expect("facts are texts and small numbers in structs, which JSON always takes")
}
