//! Tests of the whole context, in surroundings of their own.

mod fake;
mod schemas;
mod secrets;
