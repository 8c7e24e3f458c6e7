//! The PostgreSQL store passes the suites of every store, and of those on which hosts run.

use crate::database::Database;

type OfATest = Database<'static>;

rialto_store_suite::suite!(OfATest);
rialto_store_suite::host_suite!(OfATest);
