//! Responses of authenticators.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::authenticators::judge(bytes));
