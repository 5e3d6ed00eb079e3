use serde_json::json;

use super::*;

fn lenses(settings: &ClientSettings) -> Option<Lenses> {
    match settings.effective().get(Key::CodeLens) {
        Some(Setting::Name(name)) => Lenses::ALL.iter().copied().find(|one| one.name() == *name),
        _ => None,
    }
}

#[test]
fn keys_that_are_left_out_stay_unchanged() {
    for off in [
        json!({ "backstitch": { "codeLens": "off" } }),
        json!({ "backstitch.codeLens": "off" }),
        json!({ "codeLens": "off" }),
    ] {
        let mut settings = ClientSettings::default();
        assert_eq!(settings.update(&off), Vec::<String>::new());
        assert_eq!(lenses(&settings), Some(Lenses::Off), "{off}");
        for nothing in [
            json!({}),
            json!(null),
            json!({ "backstitch": {} }),
            json!({ "backstitch": null }),
            json!({ "another": { "codeLens": "all" } }),
        ] {
            assert_eq!(settings.update(&nothing), Vec::<String>::new());
            assert_eq!(lenses(&settings), Some(Lenses::Off), "{nothing}");
        }
    }
}

#[test]
fn errors_are_reported() {
    let wrong = |sent: Value| ClientSettings::default().update(&sent);
    let keys = unknown();
    for (sent, message) in [
        (
            json!({ "backstitch": { "codeLens": "some" } }),
            "codeLens: \"some\" is not one of all, session, latestTurn, off; the setting is ignored"
                .to_owned(),
        ),
        (
            json!({ "backstitch.codeLens": 7 }),
            "codeLens: 7 is not one of all, session, latestTurn, off; the setting is ignored"
                .to_owned(),
        ),
        (
            json!({ "backstitch": { "codelens": "off" } }),
            format!("codelens: {keys}"),
        ),
        (
            json!({ "backstitch": { "capture": { "maxfilesize": 1 } } }),
            format!("capture.maxfilesize: {keys}"),
        ),
        (
            json!({ "backstitch.capture": 3 }),
            format!("capture: {keys}"),
        ),
    ] {
        assert_eq!(wrong(sent), [format!("{SECTION}.{message}")]);
    }
    let mut settings = ClientSettings::default();
    settings.update(&json!({ "codeLens": "off" }));
    assert_eq!(
        settings.update(&json!({ "codeLens": true })),
        [format!(
            "{SECTION}.codeLens: true is not one of all, session, latestTurn, off; off is used"
        )]
    );
    assert_eq!(
        ClientSettings::default().begin(&json!({ "reloadsFromDisk": "yes", "panels": true })),
        [
            "initializationOptions.backstitch.reloadsFromDisk: \"yes\" is neither true nor false; false is used"
        ]
    );
    assert_eq!(
        ClientSettings::default().begin(&json!({ "lensForm": "short", "hover": "none" })),
        [
            "initializationOptions.backstitch.hover: \"none\" is not one of all, agent, off; all is used"
        ]
    );
}

fn exclude(settings: &ClientSettings) -> Option<String> {
    settings
        .effective()
        .get(Key::Exclude)
        .map(ToString::to_string)
}

#[test]
fn keys_are_read_in_both_forms() {
    for sent in [
        json!({ "backstitch": { "capture": { "exclude": ["x"] } } }),
        json!({ "backstitch": { "capture.exclude": ["x"] } }),
        json!({ "backstitch.capture.exclude": ["x"] }),
        json!({ "backstitch.capture": { "exclude": ["x"] } }),
        json!({ "capture": { "exclude": ["x"] } }),
        json!({ "capture.exclude": ["x"] }),
    ] {
        let mut settings = ClientSettings::default();
        assert_eq!(settings.update(&sent), Vec::<String>::new(), "{sent}");
        assert_eq!(exclude(&settings).as_deref(), Some(r#"["x"]"#), "{sent}");
    }
}

#[test]
fn an_answer_replaces_the_previous_one() {
    let mut settings = ClientSettings::default();
    let answer = |settings: &mut ClientSettings, section: Value| {
        settings.answer(section.as_object().expect("a section"))
    };
    settings.begin(&json!({ "capture": { "exclude": ["start"] } }));
    answer(&mut settings, json!({ "capture": { "exclude": ["a"] } }));
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["a"]"#));
    let wrong = answer(&mut settings, json!({ "capture": { "exclude": "a" } }));
    assert_eq!(wrong.len(), 1);
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["a"]"#));
    answer(&mut settings, json!({ "capture": { "exclude": null } }));
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["start"]"#));
    // a notification is newer than the last answer
    answer(&mut settings, json!({ "capture.exclude": ["a"] }));
    settings.update(&json!({ "backstitch.capture.exclude": ["b"] }));
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["b"]"#));
    answer(&mut settings, json!({}));
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["b"]"#));
    settings.update(&json!({ "backstitch.capture.exclude": null }));
    assert_eq!(exclude(&settings).as_deref(), Some(r#"["start"]"#));
}

#[test]
fn a_store_is_named_at_the_start() {
    let mut settings = ClientSettings::default();
    assert_eq!(
        settings.begin(&json!({ "store": { "dir": "/s" } })),
        Vec::<String>::new()
    );
    assert_eq!(settings.store_dir(), Some(std::path::Path::new("/s")));
    assert_eq!(
        settings.update(&json!({ "backstitch.store.dir": "/s" })),
        Vec::<String>::new()
    );
    let wrong = settings.update(&json!({ "backstitch.store.dir": "/t" }));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(settings.store_dir(), Some(std::path::Path::new("/s")));
}
