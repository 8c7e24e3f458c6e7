//! Examples of entries, for the tests of the formats.

use super::exported::Exported;

/// An outcome that a component has written.
pub(super) fn committed() -> Exported {
    Exported::new(
        7,
        1_767_225_600_123,
        r#"{"at":1767225600123,"actor":{"kind":"client","name":"bank|a"},"writer":"transfers","action":"transfer.committed","about":"transfer:1","outcome":"done","details":{"amount":"5"},"release":2,"turn":40,"trace":"0af7"}"#,
    )
}

/// A request of an operator.
pub(super) fn request() -> Exported {
    Exported::new(
        8,
        1_767_225_600_124,
        r#"{"at":1767225600124,"actor":{"kind":"operator","name":"anna","operator":"anna-checks","credential":"token 5f0c"},"writer":"office","action":"approve-funds","about":"POST /funds/1/approval","outcome":"refused","details":{"operation":"approveFunds","status":403,"bodySha256":"ab"}}"#,
    )
}

/// Strangers who were refused.
pub(super) fn refused() -> Exported {
    Exported::new(
        9,
        1_767_225_600_125,
        r#"{"at":1767225600125,"actor":{"kind":"client","name":"address 192.0.2.7"},"writer":"host","action":"authentication.refused","outcome":"refused","note":"3 more = many\nin the minute","details":{"count":3,"since":1767225600000}}"#,
    )
}

/// An action in the host's own API.
pub(super) fn token() -> Exported {
    Exported::new(
        10,
        1_767_225_600_126,
        r#"{"at":1767225600126,"actor":{"kind":"operator","name":"anna"},"writer":"host","action":"token-new","about":"nightly export","outcome":"begun","details":{"operation":4}}"#,
    )
}

/// Something of a program outside that is about nothing.
pub(super) fn other() -> Exported {
    Exported::new(
        11,
        1_767_225_600_127,
        r#"{"at":1767225600127,"actor":{"kind":"component","name":"auditing"},"writer":"auditing","action":"night.began","outcome":"done"}"#,
    )
}

/// No entry.
pub(super) fn unreadable() -> Exported {
    Exported::new(12, 1_767_225_600_128, "{\"at\":\n1|")
}
