//! A host as a process of its own, and everybody around it: one binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod attacks;
mod backup;
mod bad_input;
mod bench;
mod check;
mod commands;
mod contracts;
mod dead_letters;
mod deliveries;
mod demo;
mod disk;
mod errors;
mod fuzz_seeds;
mod grpc;
mod kill;
mod ledger;
mod liquidity;
mod many_participants;
mod mutations;
mod operators;
mod overload;
mod own_files;
mod participants;
mod participants_under_load;
mod payments;
mod power_cut;
mod releases;
mod restart;
mod retention;
mod rollback;
mod rules;
mod second_person;
mod settlement;
mod settlement_killed;
mod settlement_under_load;
mod signatures;
mod stock_clients;
mod telemetry;
mod torment;
mod transfers;
mod transfers_for_operators;
mod two_hundred_prepares;
mod who_did_it;
mod wire;
