//! Checkpoints and their files as resources.

use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::{Value, json};

use super::{LibraryClient, recorded};
use crate::support::World;

fn read(client: &LibraryClient, uri: &str) -> Result<ResourceContents, String> {
    let params = ReadResourceRequestParams::new(uri);
    let read = client.service().read_resource(params);
    let read = client.runtime.block_on(read);
    read.map(|mut result| result.contents.remove(0))
        .map_err(|error| error.to_string())
}

fn text(contents: ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text,
        other => panic!("no text: {other:?}"),
    }
}

/// The newest checkpoints are listed and can be read, with their files.
#[test]
fn checkpoints_and_files_are_read() {
    let world = recorded();
    world.write("dir/sp ace.bin", [0, 255]);
    world.ok(["checkpoint", "-m", "now"]);
    let client = LibraryClient::start(&world);
    let listed = client
        .runtime
        .block_on(client.service().list_all_resources());
    let listed = listed.expect("a list");
    let newest = world.json(["log", "-n", "1"])["checkpoints"][0]["id"].clone();
    let newest = newest.as_str().expect("an id");
    assert_eq!(listed[0].uri, format!("backstitch://checkpoint/{newest}"));
    let document = text(read(&client, &listed[0].uri).expect("a checkpoint"));
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["label"], "now");
    let templates = client.service().list_all_resource_templates();
    let templates = client.runtime.block_on(templates).expect("templates");
    let templates: Vec<&str> = templates
        .iter()
        .map(|one| one.uri_template.as_str())
        .collect();
    assert_eq!(
        templates,
        [
            "backstitch://checkpoint/{id}",
            "backstitch://checkpoint/{id}/{+path}"
        ]
    );
    let file = read(&client, "backstitch://checkpoint/t1/a.txt").expect("a file");
    assert_eq!(text(file), "one\ntwo\nthree\n");
    let binary = format!("backstitch://checkpoint/{newest}/dir/sp%20ace.bin");
    match read(&client, &binary).expect("a file") {
        ResourceContents::BlobResourceContents { blob, .. } => assert_eq!(blob, "AP8="),
        other => panic!("{other:?}"),
    }
    client.end();
}

/// Paths outside of the workspace and unknown names are refused, with the reason.
#[test]
fn other_uris_are_refused() {
    let world = recorded();
    world.write(world.home.join("secret"), "secret");
    let client = LibraryClient::start(&world);
    for (uri, reason) in [
        (
            "backstitch://checkpoint/c1/../../home/secret",
            "inside of the workspace",
        ),
        (
            "backstitch://checkpoint/c1/%2e%2e/home/secret",
            "inside of the workspace",
        ),
        (
            "backstitch://checkpoint/c1//etc/passwd",
            "inside of the workspace",
        ),
        (
            "backstitch://checkpoint/c1/a%00b",
            "inside of the workspace",
        ),
        ("backstitch://checkpoint/", "names no checkpoint"),
        ("backstitch://checkpoint/c99", "c99"),
        ("backstitch://checkpoint/c1/b.txt", "b.txt"),
        ("backstitch://elsewhere/c1", "not a resource"),
        ("file:///etc/passwd", "not a resource"),
        ("", "not a resource"),
    ] {
        let error = read(&client, uri).expect_err(uri);
        assert!(error.contains(reason), "{uri}: {error}");
    }
    client.ok("log", &json!({}));
    client.end();
    // a folder without a history has an empty list
    let world = World::new();
    let client = LibraryClient::start(&world);
    let listed = client
        .runtime
        .block_on(client.service().list_all_resources());
    assert_eq!(listed.expect("a list"), []);
    client.end();
}
