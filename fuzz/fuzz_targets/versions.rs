//! Versions, as they are asked for and said.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::versions::judge(bytes));
