//! `actions/setup-java`.

use std::path::PathBuf;

use super::installed::{InstalledTool, Tool};
use super::wanted::{first_line, named_file, tool_version};
use super::{
    ActionCall, ActionResult, BuiltinError, absent, note_cache, outputs, range_of, require,
};

pub(super) const JAVA: Tool = Tool {
    name: "Java",
    program: "java",
    arguments: &["-version"],
    programs: &["java", "javac", "jar"],
    managers: &[
        ("RUNNER_TOOL_CACHE", ".runner-tool-cache", "Java"),
        ("SDKMAN_DIR", ".sdkman", "candidates/java"),
        ("JENV_ROOT", ".jenv", "versions"),
        ("ASDF_DATA_DIR", ".asdf", "installs/java"),
        ("MISE_DATA_DIR", ".local/share/mise", "installs/java"),
        ("HOME", "", ".jdks"),
    ],
    system: &["/usr/lib/jvm", "/opt/java", "/opt/hostedtoolcache/Java"],
};

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let inputs = call.given();
    let distribution = inputs.text("distribution");
    if distribution.is_empty() {
        return Err("Input required and not supplied: distribution"
            .to_owned()
            .into());
    }
    let wants_compiler = inputs.text_or("java-package", "jdk").starts_with("jdk");
    let mut done = ActionResult::default();
    // the last one is the default
    for wanted in wanted(call)? {
        let found = find(call, &wanted)?;
        let real = found
            .program
            .canonicalize()
            .unwrap_or_else(|_| found.program.clone());
        let home = real
            .parent()
            .and_then(|bin| bin.parent())
            .map(PathBuf::from)
            .unwrap_or_default();
        if wants_compiler && !home.join("bin/javac").exists() {
            return Err(absent(
                &JAVA,
                &format!("{wanted} with a compiler"),
                &[found.version],
            ));
        }
        call.say(&format!(
            "Java is not checked to be of the distribution {distribution}."
        ));
        let version = found.version.to_string();
        let directory = home.to_string_lossy().into_owned();
        done.outputs = outputs([
            ("distribution", distribution.to_owned()),
            ("version", version),
            ("path", directory.clone()),
            ("cache-hit", "false".to_owned()),
        ])
        .outputs;
        let major = found.version.numbers[0];
        done.environment.retain(|(name, _)| name != "JAVA_HOME");
        done.environment
            .push(("JAVA_HOME".to_owned(), directory.clone()));
        let architecture = if cfg!(target_arch = "aarch64") {
            "ARM64"
        } else {
            "X64"
        };
        done.environment.push((
            format!("JAVA_HOME_{major}_{architecture}"),
            directory.clone(),
        ));
        done.path.push(format!("{directory}/bin"));
    }
    note_cache(call);
    Ok(done)
}

/// Finds a version.
fn find(call: &mut ActionCall<'_>, wanted: &str) -> Result<InstalledTool, BuiltinError> {
    let range = range_of(&JAVA, wanted.strip_prefix("1.8").map_or(wanted, |_| "8"))?;
    require(call, &JAVA, &range)
}

/// Finds each version that the inputs want.
pub(super) fn find_all(call: &mut ActionCall<'_>) -> Result<(), BuiltinError> {
    for wanted in wanted(call)? {
        find(call, &wanted)?;
    }
    Ok(())
}

fn wanted(call: &ActionCall<'_>) -> Result<Vec<String>, BuiltinError> {
    let given = call.given().lines("java-version");
    if !given.is_empty() {
        return Ok(given.into_iter().map(str::to_owned).collect());
    }
    let Some((name, text)) = named_file(call, "java-version-file")? else {
        return Err(
            "java-version or java-version-file input expected: add one of them"
                .to_owned()
                .into(),
        );
    };
    let version = if name.ends_with(".tool-versions") {
        tool_version(&text, &["java"])
    } else if name.ends_with(".sdkmanrc") {
        text.lines()
            .find_map(|line| line.trim().strip_prefix("java="))
    } else {
        first_line(&text)
    };
    // the name of a distribution stands before or behind the number
    let version = version.map(|version| version.trim_start_matches(|c: char| !c.is_ascii_digit()));
    let version = version.and_then(|version| version.split('-').next());
    Ok(vec![
        version
            .filter(|version| !version.is_empty())
            .ok_or_else(|| {
                format!("{name} names no version of Java: add one, or use the input java-version")
            })?
            .to_owned(),
    ])
}
