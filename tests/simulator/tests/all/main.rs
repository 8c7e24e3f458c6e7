//! The simulator seen from outside, in one test program: two FSPs with a tiny switch between
//! them, the control API, and the load generator.

mod control_and_bench;
mod misbehaviour;
mod payments;
mod switch;
mod world;
