//! The PostgreSQL store passes the suite of every store.

use crate::database::Database;

type OfATest = Database<'static>;

rialto_store_suite::suite!(OfATest);
