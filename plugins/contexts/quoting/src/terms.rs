//! Documents of requests, responses and agreements, and their conversion from and to the contracts' types.

use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::bindings::rialto::rules::types as rules;
use rialto_sdk::messages::PartyDocument;
use rialto_sdk::money::document;
use serde::{Deserialize, Serialize};

/// A document's form of an enumeration of the contracts, with FSPIOP's upper-case words.
macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl From<rules::$name> for $name {
            fn from(value: rules::$name) -> Self {
                match value { $(rules::$name::$variant => Self::$variant,)* }
            }
        }

        impl From<$name> for rules::$name {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant,)* }
            }
        }
    };
}

mirror! {
    /// Which amount is fixed.
    AmountType {
        /// What the payer pays.
        Send,
        /// What the payee gets.
        Receive,
    }
}

mirror! {
    /// What the transaction is.
    Scenario {
        /// Cash in.
        Deposit,
        /// Cash out.
        Withdrawal,
        /// Person to person.
        Transfer,
        /// For goods or services.
        Payment,
        /// Of an earlier transaction.
        Refund,
    }
}

mirror! {
    /// Who began it.
    Initiator {
        /// Who pays.
        Payer,
        /// Who is paid.
        Payee,
    }
}

mirror! {
    /// What kind of party began it.
    InitiatorType {
        /// A person.
        Consumer,
        /// An agent of an FSP.
        Agent,
        /// A business.
        Business,
        /// A machine.
        Device,
    }
}

/// What a transaction is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransactionType {
    /// What it is.
    pub scenario: Scenario,
    /// The scheme's own word beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_scenario: Option<String>,
    /// Who began it.
    pub initiator: Initiator,
    /// What kind of party began it.
    pub initiator_type: InitiatorType,
}

/// A request for a quote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestTerms {
    /// The payer FSP's id for the quote.
    pub quote_id: String,
    /// The payer FSP's id for the transaction.
    pub transaction_id: String,
    /// Who asks.
    pub payer_fsp: String,
    /// Who is asked.
    pub payee_fsp: String,
    /// Who pays.
    pub payer: PartyDocument,
    /// Who is paid.
    pub payee: PartyDocument,
    /// Which amount is fixed.
    pub amount_type: AmountType,
    /// How much.
    #[serde(with = "document")]
    pub amount: Money,
    /// The payer FSP's fee, if it discloses one.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub fees: Option<Money>,
    /// What it is for.
    pub transaction_type: TransactionType,
    /// When the request expires: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration: Option<u64>,
}

impl From<rules::QuoteRequest> for RequestTerms {
    fn from(request: rules::QuoteRequest) -> Self {
        let transaction_type = request.transaction_type;
        Self {
            quote_id: request.quote_id,
            transaction_id: request.transaction_id,
            payer_fsp: request.payer_fsp,
            payee_fsp: request.payee_fsp,
            payer: PartyDocument::from(&request.payer),
            payee: PartyDocument::from(&request.payee),
            amount_type: request.amount_type.into(),
            amount: request.amount,
            fees: request.fees,
            transaction_type: TransactionType {
                scenario: transaction_type.scenario.into(),
                sub_scenario: transaction_type.sub_scenario,
                initiator: transaction_type.initiator.into(),
                initiator_type: transaction_type.initiator_type.into(),
            },
            expiration: request.expiration,
        }
    }
}

impl From<RequestTerms> for rules::QuoteRequest {
    fn from(terms: RequestTerms) -> Self {
        let transaction_type = terms.transaction_type;
        Self {
            quote_id: terms.quote_id,
            transaction_id: terms.transaction_id,
            payer_fsp: terms.payer_fsp,
            payee_fsp: terms.payee_fsp,
            payer: terms.payer.into(),
            payee: terms.payee.into(),
            amount_type: terms.amount_type.into(),
            amount: terms.amount,
            fees: terms.fees,
            transaction_type: rules::TransactionType {
                scenario: transaction_type.scenario.into(),
                sub_scenario: transaction_type.sub_scenario,
                initiator: transaction_type.initiator.into(),
                initiator_type: transaction_type.initiator_type.into(),
            },
            expiration: terms.expiration,
        }
    }
}

/// The payee FSP's terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseTerms {
    /// The amount of the transfer.
    #[serde(with = "document")]
    pub transfer_amount: Money,
    /// What the payee gets.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub payee_receive_amount: Option<Money>,
    /// What the payee FSP takes.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub payee_fsp_fee: Option<Money>,
    /// What the payee FSP gives.
    #[serde(
        default,
        with = "document::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub payee_fsp_commission: Option<Money>,
    /// 43 characters of base64url.
    pub condition: String,
    /// When the terms expire: UTC, milliseconds since 1970.
    pub expiration: u64,
}

impl From<rules::QuoteResponse> for ResponseTerms {
    fn from(response: rules::QuoteResponse) -> Self {
        let rules::QuoteResponse {
            transfer_amount,
            payee_receive_amount,
            payee_fsp_fee,
            payee_fsp_commission,
            condition,
            expiration,
        } = response;
        Self {
            transfer_amount,
            payee_receive_amount,
            payee_fsp_fee,
            payee_fsp_commission,
            condition,
            expiration,
        }
    }
}

impl From<ResponseTerms> for rules::QuoteResponse {
    fn from(terms: ResponseTerms) -> Self {
        let ResponseTerms {
            transfer_amount,
            payee_receive_amount,
            payee_fsp_fee,
            payee_fsp_commission,
            condition,
            expiration,
        } = terms;
        Self {
            transfer_amount,
            payee_receive_amount,
            payee_fsp_fee,
            payee_fsp_commission,
            condition,
            expiration,
        }
    }
}

/// What both FSPs agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// What the payer FSP asked for.
    pub request: RequestTerms,
    /// What the payee FSP answered.
    pub response: ResponseTerms,
    /// Under which rules.
    pub rules: AgreedRules,
}

/// Under which rules something was agreed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgreedRules {
    /// The release whose rules have judged; 0 if that is not known.
    pub release: u64,
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
}

impl AgreedRules {
    /// Whether they are not known, as of agreements of earlier versions.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.release == 0
    }
}

impl Agreement {
    /// An agreement under these rules.
    #[must_use]
    pub fn new(agreement: rules::Agreement, rules: AgreedRules) -> Self {
        Self {
            request: agreement.request.into(),
            response: agreement.response.into(),
            rules,
        }
    }
}

impl From<Agreement> for rules::Agreement {
    fn from(agreement: Agreement) -> Self {
        Self {
            request: agreement.request.into(),
            response: agreement.response.into(),
        }
    }
}

/// A document of the collection `agreements`, whose id is the condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgreementDocument {
    /// What the payer FSP asked for; none once it is archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestTerms>,
    /// What the payee FSP answered; none once it is archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseTerms>,
    /// Under which rules; unknown once it is archived.
    #[serde(default, skip_serializing_if = "AgreedRules::is_unknown")]
    pub rules: AgreedRules,
    /// What stays of an archived agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<ArchivedAgreement>,
}

/// What stays of an archived agreement, so that no other FSPs use its condition again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchivedAgreement {
    /// Who asked.
    pub payer_fsp: String,
    /// Who answered.
    pub payee_fsp: String,
    /// The archive's file.
    pub file: String,
}

impl AgreementDocument {
    /// The payer FSP and the payee FSP.
    #[must_use]
    pub fn fsps(&self) -> Option<(&str, &str)> {
        let of_request = self
            .request
            .as_ref()
            .map(|request| (&*request.payer_fsp, &*request.payee_fsp));
        let of_archived = || {
            let archived = self.archived.as_ref()?;
            Some((&*archived.payer_fsp, &*archived.payee_fsp))
        };
        of_request.or_else(of_archived)
    }

    /// The agreement, unless it is archived.
    #[must_use]
    pub fn whole(self) -> Option<Agreement> {
        Some(Agreement {
            request: self.request?,
            response: self.response?,
            rules: self.rules,
        })
    }
}

impl From<Agreement> for AgreementDocument {
    fn from(agreement: Agreement) -> Self {
        Self {
            request: Some(agreement.request),
            response: Some(agreement.response),
            rules: agreement.rules,
            archived: None,
        }
    }
}
