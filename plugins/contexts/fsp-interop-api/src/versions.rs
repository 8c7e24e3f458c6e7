//! A test: the OpenAPI document serves the versions of the media types.

use rialto_sdk::media::Resource;

#[test]
fn the_openapi_document_serves_the_same_versions() {
    let document = include_str!("../openapi.yaml");
    for resource in [
        Resource::Participants,
        Resource::Parties,
        Resource::Quotes,
        Resource::Transfers,
    ] {
        let list: Vec<_> = resource
            .versions()
            .iter()
            .map(|version| format!("'{}'", version.text()))
            .collect();
        let expected = format!("supported: [{}]", list.join(", "));
        let lines = document
            .lines()
            .filter(|line| line.contains("x-rialto-version: {") && line.contains(resource.name()));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 2, "{}", resource.name());
        assert!(
            lines.iter().all(|line| line.contains(&expected)),
            "{lines:?}"
        );
    }
}
