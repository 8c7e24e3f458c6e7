//! The input of a step as an expression sees it: records with typed members.
//!
//! The names are those of the contract `rialto:rules`, in camel case.

use crate::decimal::Decimal;
use crate::failure::Failure;
use crate::settings::Step;
use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::bindings::rialto::rules::types::{
    AmountType, Initiator, InitiatorType, Scenario, TransactionType,
};
use rialto_sdk::rule::{
    Agreement, Money, QuoteRequest, QuoteResponse, Transfer, minor_units, quote_request,
    quote_response, transfer_fulfil, transfer_prepare,
};

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// True or false.
    Bool,
    /// A whole number of 64 bits.
    Int,
    /// A text.
    Text,
    /// A text that is one of these words.
    Word(&'static [&'static str]),
    /// An exact decimal number.
    Decimal,
    /// An amount with its currency.
    Money,
    /// Another record.
    Record(Kind),
}

impl Type {
    /// The type in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Text | Self::Word(_) => "a text",
            Self::Decimal => "an amount or a decimal number",
            Self::Money => "money (write amount(…) around it)",
            Self::Record(_) => "a record (name one of its members)",
        }
    }
}

/// The types of records.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    QuoteRequestInput,
    QuoteResponseInput,
    TransferPrepareInput,
    TransferFulfilInput,
    Request,
    Response,
    Agreement,
    Transfer,
    Party,
    TransactionType,
    Money,
}

/// A record of an input.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    QuoteRequestInput(&'a quote_request::Input),
    QuoteResponseInput(&'a quote_response::Input),
    TransferPrepareInput(&'a transfer_prepare::Input),
    TransferFulfilInput(&'a transfer_fulfil::Input),
    Request(&'a QuoteRequest),
    Response(&'a QuoteResponse),
    Agreement(&'a Agreement),
    Transfer(&'a Transfer),
    Party(&'a PartyId),
    TransactionType(&'a TransactionType),
    Money(&'a Money),
}

impl Record<'_> {
    /// The step whose input this is; none for a part of an input.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        match self {
            Self::QuoteRequestInput(_) => Some(Step::QuoteRequest),
            Self::QuoteResponseInput(_) => Some(Step::QuoteResponse),
            Self::TransferPrepareInput(_) => Some(Step::TransferPrepare),
            Self::TransferFulfilInput(_) => Some(Step::TransferFulfil),
            _ => None,
        }
    }
}

/// The value of an expression.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    Text(&'a str),
    /// An exact decimal number, or an amount.
    Decimal(Decimal<'a>),
    /// A record or money.
    Record(Record<'a>),
}

/// Reads a member; none if it is absent.
type Read = for<'a> fn(Record<'a>) -> Result<Option<Value<'a>>, Failure<'a>>;

/// A member of a record.
pub struct Member {
    /// The name in expressions.
    pub name: &'static str,
    /// The type of its values.
    pub of: Type,
    /// Whether inputs may lack it.
    pub is_optional: bool,
    /// Reads it.
    pub read: Read,
}

/// The members of a record: names, types, and how each one is read. `?` marks an optional member.
macro_rules! members {
    ($kind:ident: $($name:literal $of:expr, $(($optional:tt))? |$record:ident| $value:expr;)+) => {
        &[$(Member {
            name: $name,
            of: $of,
            is_optional: !<[&str]>::is_empty(&[$(stringify!($optional))?]),
            read: |record| {
                let Record::$kind($record) = record else {
                    return Err(Failure::WrongType);
                };
                Ok($value)
            },
        }),+]
    };
}

fn text(text: &str) -> Option<Value<'_>> {
    Some(Value::Text(text))
}

/// A whole number, if it fits.
fn int<'a>(number: impl TryInto<i64>) -> Result<Option<Value<'a>>, Failure<'a>> {
    let int = number.try_into().map_err(|_| Failure::TooLarge)?;
    Ok(Some(Value::Int(int)))
}

fn optional_money(money: Option<&Money>) -> Option<Value<'_>> {
    money.map(|money| Value::Record(Record::Money(money)))
}

fn party(party: &PartyId) -> Option<Value<'_>> {
    Some(Value::Record(Record::Party(party)))
}

const AMOUNT_TYPES: Type = Type::Word(&["send", "receive"]);
const SCENARIOS: Type = Type::Word(&["deposit", "withdrawal", "transfer", "payment", "refund"]);
const INITIATORS: Type = Type::Word(&["payer", "payee"]);
const INITIATOR_TYPES: Type = Type::Word(&["consumer", "agent", "business", "device"]);

const QUOTE_REQUEST_INPUT: &[Member] = members!(QuoteRequestInput:
    "now" Type::Int, |input| int(input.now)?;
    "request" Type::Record(Kind::Request), |input| Some(Value::Record(Record::Request(&input.request)));
);

const QUOTE_RESPONSE_INPUT: &[Member] = members!(QuoteResponseInput:
    "now" Type::Int, |input| int(input.now)?;
    "agreement" Type::Record(Kind::Agreement), |input| Some(Value::Record(Record::Agreement(&input.agreement)));
);

const TRANSFER_PREPARE_INPUT: &[Member] = members!(TransferPrepareInput:
    "now" Type::Int, |input| int(input.now)?;
    "transfer" Type::Record(Kind::Transfer), |input| Some(Value::Record(Record::Transfer(&input.transfer)));
    "agreement" Type::Record(Kind::Agreement), (?) |input| {
        input.agreement.as_ref().map(|agreement| Value::Record(Record::Agreement(agreement)))
    };
);

const TRANSFER_FULFIL_INPUT: &[Member] = members!(TransferFulfilInput:
    "now" Type::Int, |input| int(input.now)?;
    "transfer" Type::Record(Kind::Transfer), |input| Some(Value::Record(Record::Transfer(&input.transfer)));
    "completedTimestamp" Type::Int, (?) |input| match input.completed_timestamp {
        Some(completed) => int(completed)?,
        None => None,
    };
);

const REQUEST: &[Member] = members!(Request:
    "quoteId" Type::Text, |request| text(&request.quote_id);
    "transactionId" Type::Text, |request| text(&request.transaction_id);
    "payerFsp" Type::Text, |request| text(&request.payer_fsp);
    "payeeFsp" Type::Text, |request| text(&request.payee_fsp);
    "payer" Type::Record(Kind::Party), |request| party(&request.payer);
    "payee" Type::Record(Kind::Party), |request| party(&request.payee);
    "amountType" AMOUNT_TYPES, |request| text(match request.amount_type {
        AmountType::Send => "send",
        AmountType::Receive => "receive",
    });
    "amount" Type::Money, |request| optional_money(Some(&request.amount));
    "fees" Type::Money, (?) |request| optional_money(request.fees.as_ref());
    "transactionType" Type::Record(Kind::TransactionType), |request| {
        Some(Value::Record(Record::TransactionType(&request.transaction_type)))
    };
    "expiration" Type::Int, (?) |request| match request.expiration {
        Some(expiration) => int(expiration)?,
        None => None,
    };
);

const RESPONSE: &[Member] = members!(Response:
    "transferAmount" Type::Money, |response| optional_money(Some(&response.transfer_amount));
    "payeeReceiveAmount" Type::Money, (?) |response| optional_money(response.payee_receive_amount.as_ref());
    "payeeFspFee" Type::Money, (?) |response| optional_money(response.payee_fsp_fee.as_ref());
    "payeeFspCommission" Type::Money, (?) |response| optional_money(response.payee_fsp_commission.as_ref());
    "condition" Type::Text, |response| text(&response.condition);
    "expiration" Type::Int, |response| int(response.expiration)?;
);

const AGREEMENT: &[Member] = members!(Agreement:
    "request" Type::Record(Kind::Request), |agreement| Some(Value::Record(Record::Request(&agreement.request)));
    "response" Type::Record(Kind::Response), |agreement| Some(Value::Record(Record::Response(&agreement.response)));
);

const TRANSFER: &[Member] = members!(Transfer:
    "transferId" Type::Text, |transfer| text(&transfer.transfer_id);
    "payerFsp" Type::Text, |transfer| text(&transfer.payer_fsp);
    "payeeFsp" Type::Text, |transfer| text(&transfer.payee_fsp);
    "amount" Type::Money, |transfer| optional_money(Some(&transfer.amount));
    "condition" Type::Text, |transfer| text(&transfer.condition);
    "expiration" Type::Int, |transfer| int(transfer.expiration)?;
);

const PARTY: &[Member] = members!(Party:
    "idType" Type::Text, |party| text(&party.id_type);
    "identifier" Type::Text, |party| text(&party.identifier);
    "subIdOrType" Type::Text, (?) |party| party.sub_id_or_type.as_deref().map(Value::Text);
);

const TRANSACTION_TYPE: &[Member] = members!(TransactionType:
    "scenario" SCENARIOS, |purpose| text(match purpose.scenario {
        Scenario::Deposit => "deposit",
        Scenario::Withdrawal => "withdrawal",
        Scenario::Transfer => "transfer",
        Scenario::Payment => "payment",
        Scenario::Refund => "refund",
    });
    "subScenario" Type::Text, (?) |purpose| purpose.sub_scenario.as_deref().map(Value::Text);
    "initiator" INITIATORS, |purpose| text(match purpose.initiator {
        Initiator::Payer => "payer",
        Initiator::Payee => "payee",
    });
    "initiatorType" INITIATOR_TYPES, |purpose| text(match purpose.initiator_type {
        InitiatorType::Consumer => "consumer",
        InitiatorType::Agent => "agent",
        InitiatorType::Business => "business",
        InitiatorType::Device => "device",
    });
);

const MONEY: &[Member] = members!(Money:
    "currency" Type::Text, |money| text(&money.currency);
    "scale" Type::Int, |money| int(money.scale)?;
    "minorUnits" Type::Int, |money| int(minor_units(money))?;
);

impl Kind {
    /// The members of records of this kind.
    #[must_use]
    pub fn members(self) -> &'static [Member] {
        match self {
            Self::QuoteRequestInput => QUOTE_REQUEST_INPUT,
            Self::QuoteResponseInput => QUOTE_RESPONSE_INPUT,
            Self::TransferPrepareInput => TRANSFER_PREPARE_INPUT,
            Self::TransferFulfilInput => TRANSFER_FULFIL_INPUT,
            Self::Request => REQUEST,
            Self::Response => RESPONSE,
            Self::Agreement => AGREEMENT,
            Self::Transfer => TRANSFER,
            Self::Party => PARTY,
            Self::TransactionType => TRANSACTION_TYPE,
            Self::Money => MONEY,
        }
    }
}

impl Step {
    /// The kind of this step's input.
    #[must_use]
    pub fn input(self) -> Kind {
        match self {
            Self::QuoteRequest => Kind::QuoteRequestInput,
            Self::QuoteResponse => Kind::QuoteResponseInput,
            Self::TransferPrepare => Kind::TransferPrepareInput,
            Self::TransferFulfil => Kind::TransferFulfilInput,
        }
    }
}
