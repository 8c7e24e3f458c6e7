//! The data of a case.

use std::future::Future;
use std::pin::Pin;

use crate::stage::Stage;

/// The run of a case.
pub type Run<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// A named case.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name: the subject, a slash, the topic.
    pub name: &'static str,
    /// The table row or the sentence that it tests.
    pub shows: &'static str,
    /// The case.
    pub run: for<'a> fn(&'a Stage) -> Run<'a>,
}

/// Name a function as a case: `case!("name", "what it shows", function)`.
#[macro_export]
macro_rules! case {
    ($name:expr, $shows:expr, $function:path) => {
        $crate::case::Case {
            name: $name,
            shows: $shows,
            run: |stage| Box::pin($function(stage)),
        }
    };
}
