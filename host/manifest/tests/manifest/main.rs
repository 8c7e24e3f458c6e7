//! Tests of schemes' documents: from files to manifests or messages.

mod broken;
mod good;
mod mutations;
mod schemas;
mod support;
