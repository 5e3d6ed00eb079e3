use serde_json::json;

use super::*;

fn lenses(settings: &ClientSettings) -> Option<Lenses> {
    match settings.said().get(Key::CodeLens) {
        Some(Setting::Lenses(lenses)) => Some(*lenses),
        _ => None,
    }
}

#[test]
fn what_is_not_named_stays_as_it_is() {
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
fn what_is_wrong_is_said() {
    let wrong = |told: Value| ClientSettings::default().update(&told);
    let keys = "there is no such setting; there are capture.exclude, capture.include, \
                capture.maxFileSize, codeLens, restore.default, store.dir, store.keepDays, store.maxBytes, checkpoints.max";
    for (told, said) in [
        (
            json!({ "backstitch": { "codeLens": "some" } }),
            "codeLens: \"some\" is none of all, session, latestTurn, off; nothing is said of it"
                .to_owned(),
        ),
        (
            json!({ "backstitch.codeLens": 7 }),
            "codeLens: 7 is none of all, session, latestTurn, off; nothing is said of it"
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
        assert_eq!(wrong(told), [format!("{SECTION}.{said}")]);
    }
    let mut settings = ClientSettings::default();
    settings.update(&json!({ "codeLens": "off" }));
    assert_eq!(
        settings.update(&json!({ "codeLens": true })),
        [format!(
            "{SECTION}.codeLens: true is none of all, session, latestTurn, off; off holds"
        )]
    );
    assert_eq!(
        ClientSettings::default().begin(&json!({ "reloadsFromDisk": "yes", "panels": true })),
        [
            "initializationOptions.backstitch.reloadsFromDisk: \"yes\" is neither true nor false; false holds"
        ]
    );
}

fn exclude(settings: &ClientSettings) -> Option<String> {
    settings.said().get(Key::Exclude).map(ToString::to_string)
}

#[test]
fn keys_are_read_in_both_forms() {
    for told in [
        json!({ "backstitch": { "capture": { "exclude": ["x"] } } }),
        json!({ "backstitch": { "capture.exclude": ["x"] } }),
        json!({ "backstitch.capture.exclude": ["x"] }),
        json!({ "backstitch.capture": { "exclude": ["x"] } }),
        json!({ "capture": { "exclude": ["x"] } }),
        json!({ "capture.exclude": ["x"] }),
    ] {
        let mut settings = ClientSettings::default();
        assert_eq!(settings.update(&told), Vec::<String>::new(), "{told}");
        assert_eq!(exclude(&settings).as_deref(), Some(r#"["x"]"#), "{told}");
    }
}

#[test]
fn what_is_answered_is_all_that_is_set() {
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
