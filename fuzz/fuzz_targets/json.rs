//! JSON that all readers read the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::json::judge(bytes));
