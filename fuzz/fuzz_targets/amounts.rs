//! Amounts, as messages and operators write them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rialto_fuzz::amounts::judge(bytes));
