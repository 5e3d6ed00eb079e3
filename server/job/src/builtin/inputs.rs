//! Inputs of a step, read as the toolkit of GitHub's actions reads them.

/// Values of `with`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<'a>(pub &'a [(String, String)]);

impl<'a> Inputs<'a> {
    /// The value without spaces around it; empty if it is not given.
    pub fn text(self, name: &str) -> &'a str {
        let same = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        self.0
            .iter()
            .find(same)
            .map_or("", |(_, value)| value.trim())
    }

    pub fn text_or(self, name: &str, default: &'a str) -> &'a str {
        match self.text(name) {
            "" => default,
            text => text,
        }
    }

    /// A flag of which every text but `true` means no, as for the actions that compare texts.
    pub fn is_true(self, name: &str, default: bool) -> bool {
        match self.text(name) {
            "" => default,
            text => text.eq_ignore_ascii_case("true"),
        }
    }

    /// A flag of YAML's core schema, as `getBooleanInput` wants it.
    pub fn boolean(self, name: &str, default: bool) -> Result<bool, String> {
        match self.text(name) {
            "" => Ok(default),
            "true" | "True" | "TRUE" => Ok(true),
            "false" | "False" | "FALSE" => Ok(false),
            other => Err(format!(
                "Input does not meet YAML 1.2 \"Core Schema\" specification: {name} is '{other}'. Support boolean input list: \
                 `true | True | TRUE | false | False | FALSE`"
            )),
        }
    }

    /// Lines without spaces around them; empty ones are left out.
    pub fn lines(self, name: &str) -> Vec<&'a str> {
        let lines = self.text(name).split('\n').map(str::trim);
        lines.filter(|line| !line.is_empty()).collect()
    }
}
