//! The operators' console, in a real browser: what its pages show, what is done in them, and what nobody can do.

mod acts;
mod attacks;
mod away;
mod backtests;
mod books;
mod health;
pub(crate) mod live;
mod pages;
mod participants;
mod past;
mod pictures;
mod search;
mod sessions;
mod settling;
mod story;
mod swap;

use std::time::Duration;

use rialto_tests::office::Office;
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

use crate::webdriver::Chromium;

/// Longer than a page takes.
const SOON: Duration = Duration::from_secs(60);

/// Operators, and their roles.
const PEOPLE: [(&str, &str); 3] = [
    ("anna", r#""reader", "maker", "admin""#),
    ("ben", r#""reader", "checker", "admin""#),
    ("rita", r#""reader""#),
];

/// A scheme whose operators have browsers.
struct Scene {
    world: World,
    office: Office,
}

impl Scene {
    async fn begin() -> Self {
        Self::with(|_| {}).await
    }

    /// A scheme that was changed before its host starts.
    async fn with(change: impl FnOnce(&TestScheme)) -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_operators(&PEOPLE).unwrap();
        change(&scheme);
        let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        let office = Office::of(&world.scheme, &world.host, &names).unwrap();
        Self { world, office }
    }

    /// The same, and each change of the release needs a second person.
    async fn of_two_persons() -> Self {
        let mut scene = Self::begin().await;
        let both = "[releases]\nsecond-person = \"every-change\"\n\n[store]";
        let scheme = &scene.world.scheme;
        scheme.replace("rialto.toml", "[store]", both).unwrap();
        scene.world.host.restart().unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        scene.office = Office::of(&scene.world.scheme, &scene.world.host, &names).unwrap();
        scene
    }

    /// The address of a path of the operators' listener.
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.world.host.url("operators").unwrap())
    }

    fn token(&self, who: &str) -> String {
        let file = format!("operators/{who}.token");
        let path = self.world.scheme.store().unwrap().join(file);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// A browser in which this operator has signed in.
    async fn signed_in(&self, who: &str) -> Desk {
        self.signed_in_with(&self.token(who)).await
    }

    /// A browser in which somebody has signed in with a token.
    async fn signed_in_with(&self, token: &str) -> Desk {
        let desk = Desk(Chromium::start(&self.url("/console")).await);
        desk.0.resize(1280, 900).await;
        desk.shows("Sign in").await;
        desk.0.write("input[name=token]", token).await;
        desk.0.click("button[type=submit]").await;
        desk.shows("Signed in as").await;
        desk
    }
}

/// A browser on the console.
pub struct Desk(pub Chromium);

impl Desk {
    /// Go to a page of the console, as a link does.
    pub async fn open(&self, page: &str) {
        self.0
            .value(&format!("void (location.hash = '#/{page}')"))
            .await;
    }

    pub async fn text(&self) -> String {
        let text = self.0.value("document.body.innerText").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// POST a body by a script of the page, with its session: the status.
    pub async fn post(&self, path: &str, body: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; const body = {body:?}; \
             fetch({path:?}, {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, \
               ...(body ? {{ body }} : {{}}) }}) \
             .then(r => done(r.status), e => done(String(e)))"
        );
        self.0.value_later(&script).await
    }

    /// Type a text into a field of the open dialog.
    pub async fn fill(&self, name: &str, text: &str) {
        let selector = format!("dialog [name={name}]");
        self.has(&selector).await;
        self.0.write(&selector, text).await;
    }

    /// Choose one of the values of a field of the open dialog.
    pub async fn choose(&self, name: &str, value: &str) {
        let selector = format!("dialog [name={name}] option[value='{value}']");
        self.has(&selector).await;
        self.0.click(&selector).await;
    }

    /// Press a button of a part of the page, fill the fields of its dialog, and send it.
    pub async fn ask(&self, within: &str, words: &str, fields: &[(&str, &str)]) {
        self.press(within, words).await;
        for (name, text) in fields {
            self.fill(name, text).await;
        }
        self.press("dialog", words).await;
    }

    /// Wait until no dialog is open.
    pub async fn closed(&self) {
        let look = async || {
            let is_open = self.0.value("document.querySelector('dialog') !== null");
            Ok(if is_open.await == Value::Bool(false) {
                Ok(())
            } else {
                Err(self.text().await)
            })
        };
        until("no dialog", SOON, look).await.unwrap();
    }

    /// Wait until the page has a text.
    pub async fn shows(&self, what: &str) {
        let look = async || {
            let text = self.text().await;
            Ok(if text.contains(what) {
                Ok(())
            } else {
                Err(text)
            })
        };
        until(&format!("the page shows {what:?}"), SOON, look)
            .await
            .unwrap();
    }

    /// Wait until the page has an element of a selector.
    pub async fn has(&self, selector: &str) {
        let expression = format!("document.querySelector({selector:?}) !== null");
        let look = async || {
            let is_there = self.0.value(&expression).await == Value::Bool(true);
            Ok(if is_there {
                Ok(())
            } else {
                Err(self.text().await)
            })
        };
        until(&format!("the page has {selector:?}"), SOON, look)
            .await
            .unwrap();
    }

    /// Wait until the page has no element of a selector any more.
    pub async fn has_not(&self, selector: &str) {
        let expression = format!("document.querySelector({selector:?}) === null");
        let look = async || {
            let is_gone = self.0.value(&expression).await == Value::Bool(true);
            Ok(if is_gone {
                Ok(())
            } else {
                Err(self.text().await)
            })
        };
        until(&format!("the page has no {selector:?}"), SOON, look)
            .await
            .unwrap();
    }

    /// Give the field of a selector a value, as somebody who writes or chooses it: `input` or `change`.
    pub async fn set(&self, selector: &str, event: &str, value: &str) {
        self.has(selector).await;
        let script = format!(
            "(() => {{ const field = document.querySelector({selector:?}); field.value = {value:?}; \
             field.dispatchEvent(new Event({event:?}, {{ bubbles: true }})); return true; }})()"
        );
        self.0.value(&script).await;
    }

    /// The words on the buttons of the page itself, without those of the frame.
    pub async fn buttons(&self) -> Vec<String> {
        let all = "[...document.querySelectorAll('main button')].map(b => b.innerText)";
        let all = self.0.value(all).await;
        let words = all.as_array().unwrap().iter();
        words.map(|w| w.as_str().unwrap().to_owned()).collect()
    }

    /// Press the button with these words within the element of a selector, once it is there.
    pub async fn press(&self, within: &str, words: &str) {
        let script = format!(
            "(() => {{ const all = document.querySelectorAll({:?}); \
             const found = [...all].find(b => b.innerText === {words:?}); \
             found?.click(); return found !== undefined; }})()",
            format!("{within} button")
        );
        let look = async || {
            let pressed = self.0.value(&script).await == Value::Bool(true);
            Ok(if pressed {
                Ok(())
            } else {
                Err(self.text().await)
            })
        };
        until(&format!("a button {words:?} in {within:?}"), SOON, look)
            .await
            .unwrap();
    }
}
