//! Tests of schemes' documents from outside: files in, manifests or messages out.

mod broken;
mod good;
mod mutations;
mod schemas;
mod support;
