use std::fs;
use std::os::unix::fs::symlink;

use super::super::BuiltinError;
use super::super::fixture::{Fixture, output_of};

const UPLOAD: &str = "actions/upload-artifact";
const DOWNLOAD: &str = "actions/download-artifact";

fn refused(fixture: &mut Fixture, name: &str, inputs: &[(&str, &str)]) -> String {
    match fixture.run(name, inputs) {
        Err(BuiltinError::Failed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// Files of all artifacts, downloaded to a new directory.
fn downloaded(fixture: &mut Fixture, inputs: &[(&str, &str)]) -> String {
    fixture.output("rm -rf got");
    let inputs = [&[("path", "got")], inputs].concat();
    fixture.run(DOWNLOAD, &inputs).expect("a download");
    fixture
        .output("test ! -d got || (cd got && find . -type f | sort)")
        .replace("./", "")
}

fn files(fixture: &mut Fixture) {
    fixture.output("mkdir -p dist/sub other .cache && echo a > dist/a.js && echo b > dist/sub/b.js && echo m > dist/b.map && echo h > dist/.hidden && echo o > other/o && echo c > .cache/c && chmod +x dist/a.js");
}

#[test]
fn paths_of_an_artifact_begin_at_the_common_root() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    let mut stored = |paths: &str| {
        fixture
            .run(UPLOAD, &[("path", paths), ("overwrite", "true")])
            .expect("an upload");
        downloaded(&mut fixture, &[("name", "artifact")]).replace('\n', " ")
    };
    assert_eq!(stored("dist"), "a.js b.map sub/b.js");
    assert_eq!(stored("dist/a.js"), "a.js");
    assert_eq!(stored("dist/**/*.js"), "a.js sub/b.js");
    assert_eq!(stored("dist/\n!dist/**/*.map"), "a.js sub/b.js");
    assert_eq!(
        stored("dist\nother/o"),
        "dist/a.js dist/b.map dist/sub/b.js other/o"
    );
    assert_eq!(stored("dist/a.js\ndist/sub/b.js"), "a.js sub/b.js");
    let refused = fixture.run(UPLOAD, &[("path", "dist/../other")]);
    assert!(format!("{refused:?}").contains("'.' and '..' is not allowed"));
}

#[test]
fn hidden_files_are_stored_when_asked_for() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    let inputs = [("path", ".cache"), ("if-no-files-found", "ignore")];
    assert_eq!(
        fixture.run(UPLOAD, &inputs).expect("nothing"),
        super::super::ActionResult::default()
    );
    fixture
        .run(
            UPLOAD,
            &[("path", ".cache\ndist"), ("include-hidden-files", "true")],
        )
        .expect("an upload");
    let all = ".cache/c\ndist/.hidden\ndist/a.js\ndist/b.map\ndist/sub/b.js";
    assert_eq!(downloaded(&mut fixture, &[("name", "artifact")]), all);
}

#[test]
fn missing_files_are_an_answer() {
    let mut fixture = Fixture::folder();
    fixture.place();
    fixture
        .run(UPLOAD, &[("path", "none\nno*")])
        .expect("a warning");
    assert!(
        fixture.printed[0]
            .starts_with("::warning::No files were found with the provided path: none%0Ano*."),
        "{:?}",
        fixture.printed
    );
    let reason = refused(
        &mut fixture,
        UPLOAD,
        &[("path", "none"), ("if-no-files-found", "error")],
    );
    assert!(reason.contains("No files were found"), "{reason}");
    assert!(refused(&mut fixture, UPLOAD, &[]).contains("path"));
    assert!(
        refused(
            &mut fixture,
            UPLOAD,
            &[("path", "x"), ("if-no-files-found", "never")]
        )
        .contains("never")
    );
    assert!(refused(&mut fixture, DOWNLOAD, &[("name", "none")]).contains("none"));
    assert_eq!(downloaded(&mut fixture, &[]), "");
}

#[test]
fn artifacts_are_written_once_or_merged_by_old_versions() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    let upload = |fixture: &mut Fixture, version: &str, path: &str| {
        fixture.run(
            &format!("{UPLOAD}{version}"),
            &[("name", "all"), ("path", path)],
        )
    };
    let done = upload(&mut fixture, "@v4", "dist").expect("an upload");
    assert_eq!(output_of(&done, "artifact-id"), Some("1"));
    assert_eq!(output_of(&done, "artifact-digest").map(str::len), Some(64));
    let Err(BuiltinError::Failed(reason)) = upload(&mut fixture, "@v4.6.2", "other") else {
        panic!("no error")
    };
    assert!(reason.contains("already exists"), "{reason}");
    upload(&mut fixture, "@v3", "other").expect("a merge");
    assert_eq!(
        downloaded(&mut fixture, &[("name", "all")]),
        "a.js\nb.map\no\nsub/b.js"
    );
    fixture
        .run(
            UPLOAD,
            &[("name", "all"), ("path", "other"), ("overwrite", "true")],
        )
        .expect("an upload");
    assert_eq!(downloaded(&mut fixture, &[("name", "all")]), "o");
}

#[test]
fn downloads_by_pattern_and_id_have_directories() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    let upload = |fixture: &mut Fixture, name: &str, path: &str| {
        let done = fixture
            .run(UPLOAD, &[("name", name), ("path", path)])
            .expect("an upload");
        output_of(&done, "artifact-id").expect("an id").to_owned()
    };
    upload(&mut fixture, "js-a", "dist/a.js");
    let id = upload(&mut fixture, "js-b", "dist/sub/b.js");
    upload(&mut fixture, "rest (1), ä", "other");
    assert_eq!(
        downloaded(&mut fixture, &[]),
        "js-a/a.js\njs-b/b.js\nrest (1), ä/o"
    );
    assert_eq!(
        downloaded(&mut fixture, &[("pattern", "js-*")]),
        "js-a/a.js\njs-b/b.js"
    );
    assert_eq!(
        downloaded(
            &mut fixture,
            &[("pattern", "js-*"), ("merge-multiple", "true")]
        ),
        "a.js\nb.js"
    );
    assert_eq!(downloaded(&mut fixture, &[("artifact-ids", &id)]), "b.js");
    assert!(refused(&mut fixture, DOWNLOAD, &[("artifact-ids", "99")]).contains("99"));
    assert!(refused(&mut fixture, DOWNLOAD, &[("run-id", "7")]).contains("other runs"));
    let done = fixture
        .run(DOWNLOAD, &[("name", "js-a"), ("path", "~/down")])
        .expect("a download");
    let home = fixture.place().home.clone();
    assert_eq!(
        output_of(&done, "download-path"),
        home.join("down").to_str()
    );
    assert!(home.join("down/a.js").exists());
}

#[test]
fn artifacts_of_needed_jobs_are_there() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    fixture
        .run(UPLOAD, &[("path", "dist/a.js")])
        .expect("an upload");
    let artifacts = fixture.place().artifacts.clone();
    fixture.next_run();
    fixture.options.needed_artifacts.push(artifacts);
    assert_eq!(downloaded(&mut fixture, &[("name", "artifact")]), "a.js");
}

#[test]
fn names_that_github_refuses_are_refused() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    for name in ["a/b", "a:b", "../x", "a\\b", "a*"] {
        assert!(
            refused(&mut fixture, UPLOAD, &[("name", name), ("path", "dist")])
                .contains("not valid"),
            "{name}"
        );
    }
    for name in ["..", ".", "x%y", &"n".repeat(300)] {
        fixture
            .run(UPLOAD, &[("name", name), ("path", "dist/a.js")])
            .expect("an upload");
        assert_eq!(downloaded(&mut fixture, &[("name", name)]), "a.js");
    }
    fixture.output("touch 'other/a:b'");
    assert!(refused(&mut fixture, UPLOAD, &[("path", "other")]).contains("a:b"));
}

/// An upload that failed has left nothing (J8), and neither reads the user's files nor writes to them.
#[test]
fn j8_an_artifact_is_stored_or_the_step_fails() {
    let mut fixture = Fixture::folder();
    files(&mut fixture);
    fixture.write("secret", "secret");
    let user = fixture.root.to_str().expect("a path").to_owned();
    fixture
        .options
        .host
        .variables
        .push(("HOME".into(), fixture.dir.clone().into()));
    assert!(refused(&mut fixture, UPLOAD, &[("path", &user)]).contains("belongs to the user"));
    fixture.run(UPLOAD, &[("path", "dist")]).expect("an upload");
    assert!(refused(&mut fixture, DOWNLOAD, &[("path", &user)]).contains("belongs to the user"));
    let workspace = fixture.workspace();
    symlink(&user, workspace.join("link")).expect("a link");
    assert!(refused(&mut fixture, DOWNLOAD, &[("path", "link/x")]).contains("belongs to the user"));
    fs::create_dir_all(workspace.join("got")).expect("a directory");
    symlink(&user, workspace.join("got/sub")).expect("a link");
    fixture
        .run(DOWNLOAD, &[("name", "artifact"), ("path", "got")])
        .expect("a download");
    assert_eq!(fs::read_dir(&user).expect("a directory").count(), 1);
    fixture.output("mkdir out && ln -s / out/disk && echo x > out/x");
    fixture
        .run(UPLOAD, &[("name", "out"), ("path", "out")])
        .expect("an upload");
    assert!(
        fixture.printed.iter().any(|line| line.contains("out/disk")),
        "{:?}",
        fixture.printed
    );
    // the store is gone, and a file stands in its place
    let artifacts = fixture.place().artifacts.clone();
    fs::remove_dir_all(&artifacts).expect("removed");
    fs::write(&artifacts, "").expect("a file");
    let reason = refused(&mut fixture, UPLOAD, &[("path", "dist")]);
    assert!(
        reason.contains("was not stored") && reason.contains("artifacts"),
        "{reason}"
    );
}
