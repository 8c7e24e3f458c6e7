//! Instants, as bodies and headers have them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::dates::judge(bytes));
