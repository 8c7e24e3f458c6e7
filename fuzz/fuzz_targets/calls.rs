//! Messages of calls.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::calls::judge(bytes));
