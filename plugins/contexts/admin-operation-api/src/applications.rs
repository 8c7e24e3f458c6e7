//! Applications of participants (`/app-register`): one operator asks for each, another one approves it. Security
//! (authentication) keeps them; here are the roles, and how it is told.

use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::security_authn::get_applications::Page;
use crate::bindings::rialto::security_authn::register_application::{self, Registered};
use crate::bindings::rialto::security_authn::types::{
    Application, ApplicationError, ApplicationState,
};

/// Who knows participants and applications: other contexts, or a test.
pub trait Applications {
    /// Whether there is a participant of this id.
    fn is_participant(&mut self, id: &str) -> bool;
    /// Asks for an application.
    ///
    /// # Errors
    /// As Security says.
    fn register(
        &mut self,
        request: &register_application::Request,
    ) -> Result<Registered, ApplicationError>;
    /// Approves or rejects one.
    ///
    /// # Errors
    /// As Security says.
    fn decide(
        &mut self,
        id: &str,
        checker: &str,
        approved: bool,
    ) -> Result<Application, ApplicationError>;
    /// Revokes one.
    ///
    /// # Errors
    /// As Security says.
    fn revoke(&mut self, id: &str, operator: &str) -> Result<Application, ApplicationError>;
    /// A page of applications.
    fn page(&mut self, cursor: Option<&str>, limit: u32) -> Page;
}

#[derive(Deserialize)]
struct Wanted {
    participant: String,
    label: String,
}

#[derive(Deserialize)]
struct Decided {
    decision: Decision,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
enum Decision {
    Approve,
    Reject,
}

/// An application as operators see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: String,
    participant: String,
    label: String,
    state: &'static str,
    maker: String,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<u64>,
}

impl From<Application> for View {
    fn from(application: Application) -> Self {
        Self {
            id: application.id,
            participant: application.name,
            label: application.label,
            state: name(application.state),
            maker: application.maker,
            created_at: application.created_at,
            decided_by: application.decided_by,
            decided_at: application.decided_at,
        }
    }
}

const fn name(state: ApplicationState) -> &'static str {
    match state {
        ApplicationState::Pending => "PENDING",
        ApplicationState::Active => "ACTIVE",
        ApplicationState::Rejected => "REJECTED",
        ApplicationState::Revoked => "REVOKED",
    }
}

/// Answers a request about applications.
///
/// # Errors
/// When the role is missing, or what is asked for cannot be done.
pub fn answer(
    world: &mut impl Applications,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    let id = parameter(&request.path_parameters, "id").unwrap_or_default();
    match request.operation_id.as_str() {
        "registerApplication" => {
            caller.needs(Role::Maker)?;
            register(world, caller, body(request)?)
        }
        "decideApplication" => {
            caller.needs(Role::Checker)?;
            let Decided { decision } = body(request)?;
            let decided = world.decide(id, &caller.name, decision == Decision::Approve);
            told(decided, id)
        }
        "revokeApplication" => {
            // To stop somebody must be quick: either role will do.
            caller.needs_one_of(&[Role::Maker, Role::Checker])?;
            told(world.revoke(id, &caller.name), id)
        }
        "listApplications" => {
            caller.needs(Role::Reader)?;
            let Paging { cursor, limit } = Paging::of(&request.query_parameters)?;
            let page = world.page(cursor.as_deref(), limit);
            let items = page.applications.into_iter().map(View::from).collect();
            let next_cursor = page.cursor;
            Ok(Answer::json(200, &Items { items, next_cursor }))
        }
        other => {
            let detail = format!("there is no operation `{other}`");
            Err(Problem::new(Kind::NotFound, detail))
        }
    }
}

fn register(
    world: &mut impl Applications,
    caller: &Caller,
    wanted: Wanted,
) -> Result<Answer, Problem> {
    if !world.is_participant(&wanted.participant) {
        let detail = format!("there is no participant {}", wanted.participant);
        return Err(Problem::new(Kind::ParticipantUnknown, detail));
    }
    let request = register_application::Request {
        name: wanted.participant,
        label: wanted.label,
        maker: caller.name.clone(),
    };
    let registered = world
        .register(&request)
        .map_err(|error| refused(error, ""))?;
    let application = View::from(registered.application);
    let path = format!("/app-register/{}", application.id);
    let body = json!({ "application": application, "secret": registered.secret });
    let answer = Answer::json(201, &body).with("location", path);
    Ok(answer.with("cache-control", "no-store"))
}

fn told(done: Result<Application, ApplicationError>, id: &str) -> Result<Answer, Problem> {
    let application = done.map_err(|error| refused(error, id))?;
    Ok(Answer::json(200, &View::from(application)))
}

fn refused(error: ApplicationError, id: &str) -> Problem {
    match error {
        ApplicationError::Unknown => Problem::new(
            Kind::ApplicationUnknown,
            format!("there is no application {id}"),
        ),
        ApplicationError::InState(state) => {
            let detail = format!("the application {id} is {}", name(state));
            Problem::new(Kind::ApplicationState, detail).with("state", name(state))
        }
        ApplicationError::MakerIsChecker => {
            let detail = "nobody decides what they asked for themselves";
            Problem::new(Kind::MakerIsChecker, detail)
        }
        ApplicationError::Malformed(detail) => Problem::new(Kind::Malformed, detail),
    }
}

fn body<'r, T: Deserialize<'r>>(request: &'r Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(body)
        .map_err(|_| Problem::new(Kind::Malformed, "the body is not of this operation's form"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[derive(Default)]
    struct Fake {
        done: Vec<String>,
        fails: Option<ApplicationError>,
    }

    impl Fake {
        fn does(&mut self, what: String) -> Result<Application, ApplicationError> {
            if let Some(error) = self.fails.take() {
                return Err(error);
            }
            self.done.push(what);
            Ok(Application {
                id: "app".to_owned(),
                name: "green".to_owned(),
                label: "l".to_owned(),
                state: ApplicationState::Pending,
                maker: "maya".to_owned(),
                created_at: 7,
                decided_by: None,
                decided_at: None,
            })
        }
    }

    impl Applications for Fake {
        fn is_participant(&mut self, id: &str) -> bool {
            id == "green"
        }
        fn register(
            &mut self,
            request: &register_application::Request,
        ) -> Result<Registered, ApplicationError> {
            let application = self.does(format!("{} by {}", request.name, request.maker))?;
            Ok(Registered {
                application,
                secret: "s".to_owned(),
            })
        }
        fn decide(
            &mut self,
            id: &str,
            checker: &str,
            approved: bool,
        ) -> Result<Application, ApplicationError> {
            self.does(format!("{id} {approved} by {checker}"))
        }
        fn revoke(&mut self, id: &str, operator: &str) -> Result<Application, ApplicationError> {
            self.does(format!("{id} revoked by {operator}"))
        }
        fn page(&mut self, cursor: Option<&str>, limit: u32) -> Page {
            let applications = self.does(format!("page {cursor:?} {limit}")).into_iter();
            Page {
                applications: applications.collect(),
                cursor: Some("app".to_owned()),
            }
        }
    }

    fn ask(fake: &mut Fake, role: &str, operation: &str, body: &str) -> (u16, Value) {
        let request = Request {
            operation_id: operation.to_owned(),
            method: "POST".to_owned(),
            path: "/".to_owned(),
            path_parameters: vec![("id".to_owned(), "app".to_owned())],
            query_parameters: Vec::new(),
            headers: Vec::new(),
            body: Some(body.to_owned()),
            caller: None,
        };
        let caller = Caller {
            name: "anna".to_owned(),
            roles: vec![role.to_owned()],
        };
        let answer = answer(fake, &caller, &request).unwrap_or_else(|problem| problem.answer());
        let body = answer.body.as_deref().unwrap_or("null");
        (answer.status, serde_json::from_str(body).unwrap())
    }

    const WANTED: &str = r#"{"participant":"green","label":"l"}"#;
    const APPROVE: &str = r#"{"decision":"APPROVE"}"#;

    #[test]
    fn each_operation_is_of_its_roles() {
        for (operation, body, roles) in [
            ("registerApplication", WANTED, &["maker"][..]),
            ("decideApplication", APPROVE, &["checker"]),
            ("revokeApplication", "{}", &["maker", "checker"]),
            ("listApplications", "", &["reader"]),
        ] {
            for role in ["reader", "maker", "checker", "context", "admin"] {
                let mut fake = Fake::default();
                let (status, said) = ask(&mut fake, role, operation, body);
                let may = roles.contains(&role);
                assert_eq!(status != 403, may, "{operation} as {role}: {said}");
                assert_eq!(fake.done.len(), usize::from(may), "{operation} as {role}");
            }
        }
    }

    #[test]
    fn secret_is_told_with_the_registration_alone() {
        let mut fake = Fake::default();
        let (status, said) = ask(&mut fake, "maker", "registerApplication", WANTED);
        assert_eq!((status, &said["secret"]), (201, &serde_json::json!("s")));
        assert_eq!(said["application"]["participant"], "green");
        assert_eq!(fake.done, ["green by anna"]);
        let (_, said) = ask(&mut fake, "checker", "decideApplication", APPROVE);
        assert_eq!(said.get("secret"), None);
        assert_eq!(fake.done[1], "app true by anna");
    }

    #[test]
    fn refusals_have_their_kinds() {
        let mut fake = Fake::default();
        let unknown = r#"{"participant":"red","label":"l"}"#;
        let (status, said) = ask(&mut fake, "maker", "registerApplication", unknown);
        assert_eq!(status, 404, "{said}");
        for (error, status, kind) in [
            (ApplicationError::Unknown, 404, "application-unknown"),
            (
                ApplicationError::InState(ApplicationState::Revoked),
                409,
                "application-state",
            ),
            (ApplicationError::MakerIsChecker, 403, "maker-is-checker"),
            (
                ApplicationError::Malformed("why".to_owned()),
                400,
                "malformed",
            ),
        ] {
            fake.fails = Some(error);
            let (found, said) = ask(&mut fake, "checker", "decideApplication", APPROVE);
            assert_eq!(found, status, "{said}");
            assert_eq!(said["type"], format!("urn:rialto:problem:{kind}"));
        }
    }
}
