//! Commands of a script that reach out of the run: as root, to package managers of the system, to registries, remotes and hosts.
//!
//! The list is for people, before the first start of a workflow. It has what a reader would find. A command in a variable, or in
//! another program, is not listed.

mod programs;
mod script;

use programs::{downloads, is_shell, reaches_out};
use script::{InnerScript, SimpleCommand};

/// Scripts within scripts that are read.
const MAX_DEPTH: usize = 8;

/// The commands that reach out, with the line of the script, from 1, and their text with single spaces.
pub fn reaching(script: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    search(script, 1, 0, &mut found);
    found.sort_by_key(|(line, _)| *line);
    found.dedup();
    found
}

fn search(script: &str, first_line: u32, depth: usize, found: &mut Vec<(u32, String)>) {
    if depth > MAX_DEPTH {
        return;
    }
    for pipeline in script::pipelines(script, first_line) {
        let piped = pipeline
            .iter()
            .position(is_download)
            .filter(|first| pipeline[first + 1..].iter().any(is_shell_command));
        if let Some(first) = piped {
            let texts: Vec<&str> = pipeline[first..]
                .iter()
                .map(|command| command.text.as_str())
                .collect();
            found.push((pipeline[first].line, texts.join(" | ")));
        }
        for (place, command) in pipeline.iter().enumerate() {
            let is_named = piped.is_some_and(|first| place >= first);
            if !is_named && (reaches_out(&command.words) || runs_download(command)) {
                found.push((command.line, command.text.clone()));
            }
            for InnerScript { line, text } in inner_scripts(command) {
                search(&text, line, depth + 1, found);
            }
        }
    }
}

fn is_download(command: &SimpleCommand) -> bool {
    downloads(&command.words)
}

fn is_shell_command(command: &SimpleCommand) -> bool {
    is_shell(&command.words)
}

/// True for `bash <(curl …)`, `sh -c "$(curl …)"` and `eval "$(curl …)"`.
fn runs_download(command: &SimpleCommand) -> bool {
    let is_runner = is_shell_command(command)
        || command
            .words
            .first()
            .is_some_and(|word| ["eval", "source", "."].contains(&word.as_str()));
    let inner = |part: &InnerScript| {
        script::pipelines(&part.text, part.line)
            .iter()
            .flatten()
            .any(is_download)
    };
    is_runner && command.substitutions.iter().any(inner)
}

/// Substitutions of a command, the script of a `-c`, and a here-document that a shell reads.
fn inner_scripts(command: &SimpleCommand) -> Vec<InnerScript> {
    let mut all = command.substitutions.clone();
    if is_shell_command(command) {
        let after_c = command
            .words
            .iter()
            .skip_while(|word| {
                !(word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
            })
            .nth(1);
        all.extend(after_c.map(|text| InnerScript {
            line: command.line,
            text: text.clone(),
        }));
        all.extend(command.documents.iter().cloned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(script: &str) -> Vec<(u32, String)> {
        reaching(script)
    }

    fn commands(script: &str) -> Vec<String> {
        found(script)
            .into_iter()
            .map(|(_, command)| command)
            .collect()
    }

    #[test]
    fn commands_that_reach_out_have_their_lines() {
        let script = "set -e\ncargo build\nsudo apt-get update &&\n  sudo apt-get install -y \\\n    jq\nif true; then git push origin main; fi\n";
        assert_eq!(
            found(script),
            [
                (3, "sudo apt-get update".to_owned()),
                (4, "sudo apt-get install -y jq".to_owned()),
                (6, "git push origin main".to_owned()),
            ]
        );
    }

    #[test]
    fn a_download_that_a_shell_runs() {
        assert_eq!(
            commands("curl -sSf https://sh.rustup.rs | sh -s -- -y"),
            ["curl -sSf https://sh.rustup.rs | sh -s -- -y"]
        );
        assert_eq!(
            commands("bash <(curl -s https://codecov.io/bash)"),
            ["bash <(curl -s https://codecov.io/bash)"]
        );
        assert_eq!(commands("sh -c \"$(wget -qO- https://x.org)\"").len(), 1);
        assert_eq!(
            commands("wget -qO- https://x.org | tee log | sudo -E bash").len(),
            1
        );
        assert!(commands("curl -o file https://x.org/file\nsh ./build.sh").is_empty());
    }

    #[test]
    fn registries_and_hosts() {
        for script in [
            "cargo publish -p a",
            "cargo +nightly publish",
            "npm publish --access public",
            "npx semantic-release",
            "python3 -m twine upload dist/*",
            "twine upload dist/*",
            "rustup default nightly",
            "docker build .",
            "/usr/bin/ssh host true",
            "A=1 env B=2 gh release create v1",
            "timeout 5 git -C sub push",
            "bash -c 'echo; git push'",
            "x=$(gh api user)",
            "echo \"now: `rustup update`\"",
            "bash <<'EOF'\nnpm login\nEOF",
            "ls | xargs -n1 npm unpublish",
            "curl -X POST -d @file https://x.org",
            "(cd a && git push)",
            "./gradlew publishToMavenCentral",
            "exec 3<>/dev/tcp/x.org/80",
            "for i in 1 2; do sudo true; done",
        ] {
            assert_eq!(
                commands(script).len(),
                1,
                "{script}: {:?}",
                commands(script)
            );
        }
    }

    #[test]
    fn what_stays_inside_is_not_listed() {
        for script in [
            "cargo test --workspace",
            "git commit -m 'sudo git push'",
            "echo sudo apt-get install",
            "# sudo reboot",
            "cat <<EOF\nsudo reboot\nEOF",
            "npm ci && npm run publish-docs-locally",
            "grep -r 'docker run' .",
            "git log --grep push",
            "echo ${x#sudo} $((1 + 2))",
        ] {
            assert_eq!(commands(script), [""; 0], "{script}");
        }
    }

    #[test]
    fn broken_and_deep_scripts_end() {
        let deep = format!("{}sudo x{}", "$(".repeat(5000), ")".repeat(5000));
        let _ = reaching(&deep);
        for script in [
            "'",
            "\"$(",
            "`",
            "<<",
            "cat <<EOF",
            "${",
            "\\",
            "((((",
            "a 'b\nc",
        ] {
            let _ = reaching(script);
        }
        let long = "echo 'a' \"b\" $(c) | d\n".repeat(20_000);
        assert!(reaching(&long).is_empty());
    }
}
