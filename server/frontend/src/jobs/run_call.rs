//! `run("script", shell: "bash", env: { NAME: "value" }, working_directory: "dir")`: the command of GitHub's own debugger.

use std::fmt::Write as _;

use backstitch_core::shell_word::shell_word;

/// The form of a call, for errors.
const FORM: &str =
    r#"run("SCRIPT", shell: "bash", env: { NAME: "VALUE" }, working_directory: "DIR")"#;

/// A call of `run`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunCall {
    script: String,
    shell: Option<String>,
    env: Vec<(String, String)>,
    directory: Option<String>,
}

impl RunCall {
    /// True for a line that is such a call, or means to be one.
    pub fn is_in(line: &str) -> bool {
        line.starts_with("run(")
    }

    /// Reads a line. Err: a sentence.
    pub fn read(line: &str) -> Result<RunCall, String> {
        let mut text = RunCallText(line.strip_prefix("run(").unwrap_or(line));
        let read = text.call();
        read.ok_or_else(|| format!("{line}: write {FORM}, or !COMMAND."))
    }

    /// The command of a shell. With options it is another shell, and leaves nothing but files.
    pub fn command(&self) -> String {
        if *self == RunCall::default().with(&self.script) {
            return self.script.clone();
        }
        let shell = self.shell.as_deref().unwrap_or("bash");
        let mut variables = String::new();
        for (name, value) in &self.env {
            let _ = write!(variables, "{name}={} ", shell_word(value));
        }
        let place = self.directory.as_deref().map(shell_word);
        let place = place.map_or_else(String::new, |dir| format!("cd {dir} && "));
        format!(
            "({place}{variables}{shell} -c {})",
            shell_word(&self.script)
        )
    }

    fn with(self, script: &str) -> RunCall {
        RunCall {
            script: script.to_owned(),
            ..self
        }
    }
}

/// The rest of a line.
struct RunCallText<'t>(&'t str);

impl RunCallText<'_> {
    fn call(&mut self) -> Option<RunCall> {
        let mut call = RunCall {
            script: self.text()?,
            ..RunCall::default()
        };
        while self.takes(",") {
            match self.name()?.as_str() {
                "shell" => call.shell = Some(self.text().filter(|shell| is_shell(shell))?),
                "working_directory" => call.directory = Some(self.text()?),
                "env" => call.env = self.variables()?,
                _ => return None,
            }
        }
        (self.takes(")") && self.0.trim().is_empty()).then_some(call)
    }

    fn variables(&mut self) -> Option<Vec<(String, String)>> {
        let mut all = Vec::new();
        if !self.takes("{") {
            return None;
        }
        while !self.takes("}") {
            all.push((self.name()?, self.text()?));
            self.takes(",");
        }
        Some(all)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.0.trim_start();
        let after = rest.strip_prefix(sign);
        self.0 = after.unwrap_or(rest);
        after.is_some()
    }

    /// A name and its colon.
    fn name(&mut self) -> Option<String> {
        let (name, rest) = self.0.split_once(':')?;
        let name = name.trim().trim_matches('"');
        let mut signs = name.chars();
        let is_name = signs.all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
        self.0 = rest;
        (is_name && !name.is_empty()).then(|| name.to_owned())
    }

    /// A text in double quotes, as JSON has it.
    fn text(&mut self) -> Option<String> {
        let rest = self.0.trim_start();
        let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let text = texts.next()?.ok()?;
        self.0 = &rest[texts.byte_offset()..];
        Some(text)
    }
}

fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "sh")
}

#[cfg(test)]
mod tests {
    use super::RunCall;

    #[test]
    fn calls_are_commands_of_a_shell() {
        let command = |line: &str| RunCall::read(line).map(|call| call.command());
        let both =
            r#"run("echo $A", env: { A: "it's", B: "2" }, shell: "sh", working_directory: "a b")"#;
        for (line, expected) in [
            (r#"run("make test")"#, "make test"),
            (r#"run("echo \"a\"\n", )"#, ""),
            (r#"run( "ls" , shell: "sh" )"#, "(sh -c ls)"),
            (both, r"(cd 'a b' && A='it'\''s' B=2 sh -c 'echo $A')"),
        ] {
            let found = command(line);
            assert_eq!(
                found.clone().unwrap_or_default(),
                expected,
                "{line}: {found:?}"
            );
        }
        for line in [
            "run(",
            "run(ls)",
            r#"run("ls""#,
            r#"run("ls") more"#,
            r#"run("ls", shell: "pwsh")"#,
            r#"run("ls", env: { A-B: "1" })"#,
        ] {
            assert!(command(line).is_err(), "{line}");
        }
    }
}
