//! Entries of the audit log as lines for other systems: by `rialto audit export`, and to the collector.

mod cef;
mod exported;
mod ocsf;
#[cfg(test)]
mod tests;

use rialto_manifest::operator::AuditFormat;

pub use exported::{Attention, Exported, attention};

/// A format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Common Event Format
    Cef,
    /// Open Cybersecurity Schema Framework, JSON
    Ocsf,
    /// The entries themselves, JSON
    Json,
}

impl Format {
    /// The line of an entry, without its end.
    #[must_use]
    pub fn line(self, exported: &Exported) -> String {
        match self {
            Self::Cef => cef::line(exported),
            Self::Ocsf => ocsf::line(exported),
            Self::Json => exported.json(),
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cef => "cef",
            Self::Ocsf => "ocsf",
            Self::Json => "json",
        }
    }
}

impl From<AuditFormat> for Format {
    fn from(wanted: AuditFormat) -> Self {
        match wanted {
            AuditFormat::Cef => Self::Cef,
            AuditFormat::Ocsf => Self::Ocsf,
            AuditFormat::Json => Self::Json,
        }
    }
}
