//! Whole messages, from their bytes to their event.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::messages::judge(bytes));
