//! Archiving of quotes that are over, each with its agreement. Shortened documents stay, so that a quote's id is never
//! used again, and a condition by no other FSPs. They name no person: not the parties, no terms, no texts of FSPs, and no
//! hash of these.

use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::quote::{Quote, State};
use crate::settings::Settings;
use crate::terms::{AgreedRules, AgreementDocument, ArchivedAgreement};
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::errors::error;
use rialto_sdk::logging::party_subject;
use rialto_sdk::messages::ErrorDocument;
use rialto_sdk::retention::{Standing, digest, standing_of_all};

/// Their name in the operator's `keep`.
pub const NAME: &str = "quotes";
/// Quotes, by their ids.
pub const QUOTES: Collection<Quote> = Collection::new("quotes");
/// Agreements, by their conditions.
pub const AGREEMENTS: Collection<AgreementDocument> = Collection::new("agreements");

/// The names that may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    vec![KeptDocuments {
        name: NAME.to_owned(),
        // An agreement goes with its quote.
        collections: vec![QUOTES.name().to_owned()],
    }]
}

/// The quotes that have been over since an instant or longer.
pub fn judge(store: &mut impl Store, ids: &[String], before: u64, settings: &Settings) -> Judged {
    let mut judged = Judged {
        over: Vec::new(),
        young: 0,
        open: 0,
    };
    for id in ids {
        let quote = QUOTES.within(store).get(id);
        let Some(quote) = quote.filter(|quote| quote.archived.is_none()) else {
            continue;
        };
        let bundle = bundle(store, quote, settings);
        if bundle.at > before {
            judged.young += 1;
        } else {
            judged.over.push(bundle);
        }
    }
    judged
}

/// A quote, with its agreement if that is its own: the latest of a condition counts.
fn bundle(store: &mut impl Store, quote: Quote, settings: &Settings) -> Bundle {
    let mut at = over_at(&quote, settings);
    let mut documents = vec![key(store, &QUOTES, &quote.quote_id)];
    if let Some(condition) = &quote.condition {
        let agreement = AGREEMENTS.within(store).get(condition);
        let agreement = agreement.and_then(AgreementDocument::whole);
        let own = agreement.filter(|agreed| agreed.request.quote_id == quote.quote_id);
        if let Some(own) = own {
            // A transfer may follow until then.
            at = at.max(own.response.expiration);
            documents.push(key(store, &AGREEMENTS, condition));
        }
    }
    Bundle {
        subject: format!("quote:{}", quote.quote_id),
        at,
        documents,
        people: people(quote),
    }
}

/// The key of a document as it is now. Another quote may get its condition before the file is written; then the agreement is
/// that quote's, and names others.
fn key<T>(store: &mut impl Store, collection: &Collection<T>, id: &str) -> DocumentKey {
    let body = store.get(collection.name(), id);
    DocumentKey {
        collection: collection.name().to_owned(),
        id: id.to_owned(),
        sha256: body.map(|body| digest(&body)),
    }
}

/// When a quote ended: UTC, milliseconds since 1970. One that nobody answers ends with its request's expiration.
fn over_at(quote: &Quote, settings: &Settings) -> u64 {
    let expiration = quote
        .request
        .as_ref()
        .and_then(|request| request.expiration);
    quote
        .finished_at
        .unwrap_or_else(|| quote.expires_at(expiration, settings))
}

/// The parties of a quote, also of one that was refused.
fn people(quote: Quote) -> Vec<String> {
    let of_request = quote
        .request
        .map(|request| vec![request.payer, request.payee]);
    let parties = of_request.unwrap_or(quote.parties).into_iter();
    parties.map(|party| party_subject(&party.into())).collect()
}

/// Shortens quotes and agreements that are in an archive. Documents that have changed since stay whole.
pub fn archived(
    store: &mut impl Store,
    archive: &Archive,
    bundles: &[ArchivedBundle],
    settings: &Settings,
) {
    for bundle in bundles {
        let documents = bundle.documents.iter();
        let keys = documents.map(|one| (&*one.collection, &*one.id, &*one.sha256));
        // Those that a crash left shortened have changed too.
        if standing_of_all(store, keys) != Standing::Same {
            continue;
        }
        for document in &bundle.documents {
            if document.collection == QUOTES.name() {
                shorten_quote(store, &document.id, archive, settings);
            } else if document.collection == AGREEMENTS.name() {
                shorten_agreement(store, &document.id, archive);
            }
        }
    }
}

fn shorten_quote(store: &mut impl Store, id: &str, archive: &Archive, settings: &Settings) {
    let quote = QUOTES.within(store).get_for_update(id);
    let Some(quote) = quote else {
        panic!("quote {id} is as the archive has it, and is not there");
    };
    let shortened = shortened(quote, &archive.file, settings);
    QUOTES.within(store).put(id, &shortened);
}

fn shortened(quote: Quote, file: &str, settings: &Settings) -> Quote {
    let finished_at = Some(over_at(&quote, settings));
    let (state, reason) = match quote.state {
        State::Pending => {
            let late = error("3302", "the payee FSP has not answered in time");
            (State::Expired, Some(ErrorDocument::from(&late)))
        }
        state => (state, quote.reason.as_ref().map(without_detail)),
    };
    Quote {
        quote_id: quote.quote_id,
        payer_fsp: quote.payer_fsp,
        payee_fsp: quote.payee_fsp,
        state,
        request_hash: String::new(),
        request: None,
        parties: Vec::new(),
        response_hash: None,
        response_body: None,
        condition: None,
        reason,
        requested_at: quote.requested_at,
        finished_at,
        deliveries: Vec::new(),
        archived: Some(file.to_owned()),
    }
}

/// The error's code with the name that the API gives it: an FSP's own words may name a person.
fn without_detail(reason: &ErrorDocument) -> ErrorDocument {
    ErrorDocument::from(&error(&reason.code, ""))
}

fn shorten_agreement(store: &mut impl Store, condition: &str, archive: &Archive) {
    let agreement = AGREEMENTS.within(store).get_for_update(condition);
    let Some(request) = agreement.and_then(|agreement| agreement.request) else {
        panic!("the agreement {condition} is as the archive has it, and has no request");
    };
    let shortened = AgreementDocument {
        request: None,
        response: None,
        rules: AgreedRules::default(),
        archived: Some(ArchivedAgreement {
            payer_fsp: request.payer_fsp,
            payee_fsp: request.payee_fsp,
            file: archive.file.clone(),
        }),
    };
    AGREEMENTS.within(store).put(condition, &shortened);
}
