//! Whether an operator may use an operation of a component. Somebody else knows that; the edge asks for each request,
//! before it reads the body.

use std::pin::Pin;

use rialto_components::http as wit;
use rialto_components::http::ViolationKind;

use crate::authentication::{Refusal, RefusalStatus};
use crate::violation::violation;

/// A question about one request.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// Who.
    pub operator: &'q wit::Caller,
    /// Whose operation.
    pub component: &'q str,
    /// Its `operationId`.
    pub operation: &'q str,
    /// Roles that may use it, by the component's document.
    pub default_roles: &'q [String],
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nobody keeps who may do what: the component judges by the operator's own roles.
    NotKept,
    /// The operator may. The component is to see these roles.
    May(Vec<String>),
    /// The operator may not, for this reason.
    MayNot(String),
}

/// Why nobody could be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAnswer(pub String);

/// Who knows which operators may do what.
pub trait Authorizer: Send + Sync + 'static {
    /// Answer a question. An error means that it cannot be known now.
    fn may<'q>(
        &'q self,
        question: Question<'q>,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, NoAnswer>> + Send + 'q>>;
}

/// The operator as the component is to see them.
pub(crate) fn authorized(
    question: Question<'_>,
    answer: Result<Answer, NoAnswer>,
) -> Result<wit::Caller, Refusal> {
    match answer {
        Ok(Answer::NotKept) => Ok(question.operator.clone()),
        Ok(Answer::May(roles)) => Ok(wit::Caller {
            name: question.operator.name.clone(),
            roles,
        }),
        Ok(Answer::MayNot(detail)) => Err(Refusal {
            violation: violation(ViolationKind::Malformed, "header Authorization", detail),
            status: RefusalStatus::Forbidden,
        }),
        Err(error) => {
            tracing::error!(
                operator = %question.operator.name, operation = question.operation,
                "the component that says who may do what cannot be asked; operators are refused until it can: {error}"
            );
            let detail = "the host cannot find out now whether you may do this; try again";
            Err(violation(ViolationKind::Overloaded, "", detail.to_owned()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn component_sees_the_roles_of_the_answer_and_refusals_have_their_status() {
        let operator = wit::Caller {
            name: "anna".to_owned(),
            roles: vec!["reader".to_owned()],
        };
        let roles = ["maker".to_owned()];
        let question = Question {
            operator: &operator,
            component: "settlements",
            operation: "settle",
            default_roles: &roles,
        };
        let shown = |answer| authorized(question, answer).map(|caller| (caller.name, caller.roles));
        let seen = |roles: &[&str]| {
            let roles = roles.iter().map(|role| (*role).to_owned()).collect();
            Some(("anna".to_owned(), roles))
        };
        assert_eq!(shown(Ok(Answer::NotKept)).ok(), seen(&["reader"]));
        let may = Answer::May(vec!["maker".to_owned()]);
        assert_eq!(shown(Ok(may)).ok(), seen(&["maker"]));
        let refused = shown(Ok(Answer::MayNot("no".to_owned()))).err();
        let refused = refused.expect("it is refused");
        assert!(matches!(refused.status, RefusalStatus::Forbidden));
        assert_eq!(refused.violation.detail, "no");
        let unknown = shown(Err(NoAnswer("away".to_owned()))).err();
        let unknown = unknown.expect("nobody passes without an answer");
        assert_eq!(unknown.violation.kind, ViolationKind::Overloaded);
        assert!(!unknown.violation.detail.contains("away"));
    }
}
