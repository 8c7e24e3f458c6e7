//! Which message of a payment is missing, on which side.

use rialto_engine::history::{Kind, Record, Step};
use rialto_simulator::bench::Unpaid;

use crate::cli::inspect::path;
use crate::client::Client;
use crate::ops::Story;

/// Which message is missing, and on which side, by what the payer says and the host's history knows. None if
/// they do not say.
pub(super) fn missing(client: &Client, unpaid: &Unpaid) -> anyhow::Result<Option<String>> {
    let reason = unpaid.reason.as_str();
    let Some((step, how)) = reason.split_once(' ') else {
        return Ok(None);
    };
    // Nothing was promised to the payer.
    if how.starts_with("unreachable") {
        return Ok(Some(
            "the payer's request had no answer: nothing was accepted".to_owned(),
        ));
    }
    if how.starts_with("refused") {
        return Ok(Some("the host refused the payer's request".to_owned()));
    }
    let (subject, asked, resource) = match step {
        "lookup" => (
            unpaid.lookup_path.replacen("parties/", "party:", 1),
            "GET",
            "/parties",
        ),
        "quote" => (format!("quote:{}", unpaid.quote_id), "POST", "/quotes"),
        "transfer" | "query" => (
            format!("transfer:{}", unpaid.transfer_id),
            "POST",
            "/transfers",
        ),
        _ => return Ok(None),
    };
    let stories: Vec<Story> = client.get(&format!("/events/{}", path(&subject)))?;
    let records = stories.into_iter().flat_map(|story| story.turns);
    let records: Vec<Record> = records
        .filter(|record| format!("{:032x}", record.trace) == unpaid.trace_id)
        .collect();
    Ok(Exchange::of(&records, asked, resource).missing())
}

/// One exchange as the host saw it.
#[derive(Debug, Default)]
struct Exchange {
    /// The status of the answer to the payer's request.
    asked: Option<u16>,
    /// What came of passing it on to the payee; none for as long as nobody knows.
    passed: Option<Option<String>>,
    /// The status of the answer to the payee's answer.
    answered: Option<u16>,
    /// What came of telling the payer.
    told: Option<Option<String>>,
}

impl Exchange {
    fn of(records: &[Record], asked: &str, resource: &str) -> Self {
        let mut exchange = Self::default();
        let mut sent: Vec<(u64, bool)> = Vec::new();
        for record in records {
            let at_resource = record.function.contains(resource);
            for step in &record.steps {
                match step {
                    Step::Answered { status } if record.kind == Kind::Request && at_resource => {
                        let is_question = record.function.starts_with(asked);
                        let place = if is_question {
                            &mut exchange.asked
                        } else {
                            &mut exchange.answered
                        };
                        *place = Some(*status);
                    }
                    Step::Sent { id, request } if request.contains(resource) => {
                        let is_question = request.starts_with(asked);
                        sent.push((*id, is_question));
                        let place = if is_question {
                            &mut exchange.passed
                        } else {
                            &mut exchange.told
                        };
                        *place = Some(None);
                    }
                    Step::Reported { id, outcome } => {
                        let Some((_, is_question)) = sent.iter().find(|(sent, _)| sent == id)
                        else {
                            continue;
                        };
                        let place = if *is_question {
                            &mut exchange.passed
                        } else {
                            &mut exchange.told
                        };
                        *place = Some(Some(outcome.clone()));
                    }
                    _ => {}
                }
            }
        }
        exchange
    }

    /// The first message that is missing. None if the host's history says nothing that explains it.
    fn missing(&self) -> Option<String> {
        let answered = |outcome: &String| outcome.starts_with('2');
        Some(match self {
            Self {
                told: Some(Some(outcome)),
                ..
            } if answered(outcome) => {
                format!(
                    "the payer's FSP took the callback ({outcome}) and did not count it: on its side"
                )
            }
            Self {
                told: Some(Some(outcome)),
                ..
            } => {
                format!("the callback to the payer's FSP: it did not take it ({outcome})")
            }
            Self {
                told: Some(None), ..
            } => {
                "the callback to the payer's FSP: sent, and nobody knows what came of it".to_owned()
            }
            Self {
                answered: Some(status),
                ..
            } if *status >= 300 => {
                format!("the payee's answer: the host refused it ({status})")
            }
            Self {
                passed: Some(Some(outcome)),
                answered: None,
                ..
            } if answered(outcome) => {
                "the payee's answer: its FSP took the request and never answered".to_owned()
            }
            Self {
                passed: Some(Some(outcome)),
                answered: None,
                ..
            } => {
                format!("the request at the payee's FSP: it did not take it ({outcome})")
            }
            // What is between the payer's request and the payee's, or the payee's answer and the payer's,
            // is the host's alone.
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(exchange: Exchange) -> String {
        exchange.missing().unwrap_or_default()
    }

    #[test]
    fn missing_steps_are_on_the_side_that_failed() {
        let taken = || Some(Some("202 after 1 attempt".to_owned()));
        let untaken = || Some(Some("unreachable after 8 attempts: refused".to_owned()));
        let asked = || Exchange {
            asked: Some(202),
            ..Exchange::default()
        };
        assert_eq!(of(asked()), "", "the host did not pass it on");
        let passed = Exchange {
            passed: taken(),
            ..asked()
        };
        assert!(of(passed).contains("never answered"));
        let not_passed = Exchange {
            passed: untaken(),
            ..asked()
        };
        assert!(of(not_passed).contains("unreachable"));
        let answered = || Exchange {
            passed: taken(),
            answered: Some(200),
            ..asked()
        };
        assert_eq!(of(answered()), "", "the host did not tell the payer");
        assert!(
            of(Exchange {
                answered: Some(400),
                ..answered()
            })
            .contains("400")
        );
        assert!(
            of(Exchange {
                told: taken(),
                ..answered()
            })
            .contains("on its side")
        );
        assert!(
            of(Exchange {
                told: untaken(),
                ..answered()
            })
            .contains("did not take it")
        );
    }
}
