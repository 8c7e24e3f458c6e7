//! A database of a test's own.

use std::sync::Mutex;
use std::time::Duration;

use rialto_store_postgres::{OpenError, PostgresStore, Settings};
use rialto_store_suite::Backend;

use rialto_postgres_server::{self as server, Server};

/// A lease that nobody needs to renew in a test.
pub const LONG: Duration = Duration::from_secs(3_600);

/// Databases of the shared server that no test has. To drop a database takes a checkpoint; to drop what is in it does not.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A database. It is emptied with this value.
pub struct Database<'s> {
    server: &'s Server,
    /// Its name.
    pub name: String,
    /// Whether another test gets it after this one.
    again: bool,
}

impl Database<'static> {
    /// On the server that all tests share.
    pub fn shared() -> Self {
        let server = server::shared();
        let free = FREE.lock().unwrap().pop();
        let again = true;
        let name = free.unwrap_or_else(|| Self::on(server).name.clone());
        Self {
            server,
            name,
            again,
        }
    }
}

impl<'s> Database<'s> {
    /// A new one on a server, for this test alone.
    pub fn on(server: &'s Server) -> Self {
        let name = server.make_database();
        let again = false;
        Self {
            server,
            name,
            again,
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Run SQL.
    pub fn sql(&self, text: &str) -> String {
        self.server.sql(&self.name, text)
    }

    /// Open a store.
    pub fn open(&self, settings: Settings) -> Result<PostgresStore, OpenError> {
        PostgresStore::open(&self.url(), settings)
    }

    /// Open a store whose lease does not expire.
    pub fn host(&self) -> PostgresStore {
        self.open(settings()).unwrap()
    }

    /// Let the lease expire although its host believes in it.
    pub fn expire_lease(&self) {
        self.sql("UPDATE rialto.leases SET expires_at = 'epoch'");
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // After a failed test a connection may hold it; no other test gets it then.
        if self.again && !std::thread::panicking() {
            self.sql("DROP SCHEMA IF EXISTS rialto CASCADE");
            FREE.lock().unwrap().push(std::mem::take(&mut self.name));
        }
    }
}

/// The settings of a host whose lease does not expire.
pub fn settings() -> Settings {
    Settings {
        lease: LONG,
        renew_every: LONG,
        ..Settings::default()
    }
}

impl Backend for Database<'static> {
    type Store = PostgresStore;

    fn new() -> Self {
        Self::shared()
    }

    fn open(&self) -> PostgresStore {
        self.host()
    }

    /// As after the database's clock was set forward.
    fn intrude(&self) -> PostgresStore {
        let newer = self.host();
        self.expire_lease();
        newer
    }
}
