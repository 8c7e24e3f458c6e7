//! What operators see of a host: its log, its telemetry, its console.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{BaseUrl, Name};

/// What the host writes to its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// Levels by target, as tracing's env-filter reads them: `info`, `warn,rialto=debug`.
    #[schemars(length(min = 1, max = 1024))]
    pub filter: String,
    /// The form of log lines.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: "info".to_owned(),
            format: LogFormat::Auto,
        }
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The collector of traces, of log lines and of the audit log's entries, and the sampling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Telemetry {
    /// The base URL of an OpenTelemetry collector that accepts OTLP over HTTP in JSON. `/v1/traces` and `/v1/logs` are appended. Only `http` is possible: run a collector beside the host that forwards over TLS.
    pub endpoint: BaseUrl,
    /// The part of traces that is recorded, from 0 to 1. A trace's id decides, so hosts with the same ratio record the same traces. The sender's own flag does not count.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 1))]
    pub sampling_ratio: f64,
    /// Whether log lines at `info` and above are exported too, if `log.filter` lets them through.
    #[serde(default)]
    pub logs: bool,
    /// Whether each entry of the audit log is sent too, as a log record whose body is the entry in this format. None is left out: entries wait in the store while the collector is away. Without it, no entry is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditFormat>,
    /// The host's name in traces and log lines.
    #[serde(default = "rialto")]
    #[schemars(length(min = 1, max = 255))]
    pub service_name: String,
}

/// The format of an entry of the audit log for other systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuditFormat {
    /// The entry itself with its index, JSON.
    Json,
    /// The Common Event Format.
    Cef,
    /// An event of the Open Cybersecurity Schema Framework, JSON.
    Ocsf,
}

const fn all() -> f64 {
    1.0
}

fn rialto() -> String {
    "rialto".to_owned()
}

/// What the operators' console is told beside what the host itself knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Console {
    /// The base URL of a Prometheus that reads this host's metrics. `/api/v1/query_range` is appended. Only `http` is possible, and nobody else can have the host ask there.
    pub prometheus: BaseUrl,
    /// The label `job` of this host's metrics there. Without it, the metrics of all hosts there are added up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Name>,
}
