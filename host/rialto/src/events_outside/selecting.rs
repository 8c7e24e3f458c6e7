//! Which events go out, and what of them: what `[events.publish]` lists, and nothing else.

use rialto_engine::{Publications, Selected};
use rialto_manifest::events::{EVERY_MEMBER, Publish};
use serde_json::{Map, Value};

/// The operator's selection.
#[derive(Clone, Debug)]
pub struct Selection(Publish);

impl Selection {
    /// The selection of `[events.publish]`.
    #[must_use]
    pub const fn new(publish: Publish) -> Self {
        Self(publish)
    }
}

impl Publications for Selection {
    fn shows(&self, subject: &str) -> bool {
        let kind = subject.split_once(':').map(|(kind, _)| kind);
        let mut kinds = self.0.subjects.iter();
        kind.is_some_and(|kind| kinds.any(|wanted| wanted.as_str() == kind))
    }

    fn selected(&self, event: &str, arguments: &dyn Fn() -> String) -> Option<Selected> {
        let members = self.0.members(event)?;
        let data = if members.is_empty() {
            "{}".to_owned()
        } else if members.iter().any(|member| member == EVERY_MEMBER) {
            arguments()
        } else {
            listed(&arguments(), members)
        };
        Some(Selected {
            data,
            may_name_people: self.0.may_name_people(event),
        })
    }
}

/// The members that are listed, in their order.
fn listed(arguments: &str, members: &[String]) -> String {
    let all: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let listed = all.into_iter().filter(|(name, _)| members.contains(name));
    Value::Object(listed.collect()).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn selection() -> Selection {
        let text = r#"
            nats = "nats://127.0.0.1:4222"
            events = { "orders/*" = [], "orders/order-taken" = ["id", "total"], "bills/bill-paid" = ["*"] }
            subjects = ["order"]
            personal = ["bills/bill-paid"]
        "#;
        Selection::new(toml::from_str(text).unwrap())
    }

    fn data(event: &str) -> Option<String> {
        let arguments = || r#"{"total":3,"name":"Ada","id":"7"}"#.to_owned();
        Some(selection().selected(event, &arguments)?.data)
    }

    #[test]
    fn only_listed_members_of_listed_events_go_out() {
        assert_eq!(
            data("orders/order-taken").unwrap(),
            r#"{"total":3,"id":"7"}"#
        );
        assert_eq!(data("orders/order-sent").unwrap(), "{}");
        assert!(data("bills/bill-paid").unwrap().contains("Ada"));
        assert_eq!(data("parties/party-named"), None);
    }

    #[test]
    fn only_listed_kinds_of_subjects_go_out() {
        let selection = selection();
        assert!(selection.shows("order:7"));
        assert!(!selection.shows("party:MSISDN/1") && !selection.shows("order"));
    }

    #[test]
    fn events_name_people_only_where_it_is_said() {
        let may = |event: &str| {
            let selected = selection().selected(event, &|| "{}".to_owned());
            selected.unwrap().may_name_people
        };
        assert!(may("bills/bill-paid") && !may("orders/order-taken"));
    }
}
