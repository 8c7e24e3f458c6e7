//! End-to-end, fault and conformance tests of a running host.
