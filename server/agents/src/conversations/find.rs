//! Finds a turn in a record: by the agent's own id, else by order and text together. Never by counting alone (U-12).

use super::{Nearest, RecordedPrompt, Refused};

/// A turn as Backstitch recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedTurn<'a> {
    /// The agent's own id of the turn. None: its hooks give none.
    pub native: Option<&'a str>,
    pub text: &'a str,
    /// Number of prompts of the session before it.
    pub before: usize,
}

/// Returns the turn of a record. Refused if it is not there, or twice.
pub fn find<'a>(
    turns: &'a [RecordedPrompt],
    wanted: &WantedTurn<'_>,
) -> Result<&'a RecordedPrompt, Refused> {
    let is_wanted = |turn: &&RecordedPrompt| match wanted.native {
        Some(id) => turn.anchor.native.as_deref() == Some(id),
        None => turn.before == wanted.before && is_same(&turn.text, wanted.text),
    };
    let mut found = turns.iter().filter(is_wanted);
    let text = || wanted.text.to_owned();
    match (found.next(), found.count()) {
        (Some(turn), 0) => Ok(turn),
        (Some(_), more) => Err(Refused::Ambiguous {
            text: text(),
            count: more + 1,
        }),
        (None, _) => Err(Refused::NotFound {
            text: text(),
            nearest: nearest(turns, wanted),
        }),
    }
}

/// Returns a turn with the same text, or the one at the same place of the open branch, or its last one.
fn nearest(turns: &[RecordedPrompt], wanted: &WantedTurn<'_>) -> Option<Nearest> {
    let distance = |turn: &&RecordedPrompt| turn.before.abs_diff(wanted.before);
    let same = turns.iter().filter(|turn| is_same(&turn.text, wanted.text));
    let open = turns.iter().filter(|turn| turn.branch == 0);
    let turn = same.min_by_key(distance).or(open.min_by_key(distance))?;
    Some(Nearest {
        text: turn.text.clone(),
        before: turn.before,
    })
}

/// True if two texts are the same, apart from white space around them and the form of line ends.
fn is_same(one: &str, other: &str) -> bool {
    one.trim().lines().eq(other.trim().lines())
}

#[cfg(test)]
mod tests {
    use super::super::Anchor;
    use super::*;

    fn turn(native: Option<&str>, text: &str, branch: usize, before: usize) -> RecordedPrompt {
        RecordedPrompt {
            anchor: Anchor {
                row: format!("{branch}/{before}"),
                native: native.map(str::to_owned),
            },
            text: text.to_owned(),
            time: None,
            branch,
            before,
        }
    }

    fn wanted<'a>(native: Option<&'a str>, text: &'a str, before: usize) -> WantedTurn<'a> {
        WantedTurn {
            native,
            text,
            before,
        }
    }

    /// A turn is found by its id, or by order and text together, never by counting alone.
    #[test]
    fn id_or_order_and_text() {
        let turns = [
            turn(Some("a"), "go on", 0, 0),
            turn(Some("b"), "go on\r\nplease ", 0, 1),
            turn(None, "go on", 1, 1),
        ];
        let row = |native, text, before| {
            find(&turns, &wanted(native, text, before)).map(|turn| turn.anchor.row.as_str())
        };
        assert_eq!(row(Some("b"), "other text", 7), Ok("0/1"));
        assert_eq!(row(None, "go on\nplease", 1), Ok("0/1"));
        assert_eq!(row(None, "go on", 1), Ok("1/1"));
        let error = row(Some("z"), "go on", 1).unwrap_err();
        assert_eq!(error.kind(), "turn_not_in_record");
        let error = row(None, "go on", 5).unwrap_err();
        let said = "the record has no turn “go on”; the nearest is “go on”, prompt 2 of its branch";
        assert_eq!(error.to_string(), said);
    }

    /// Twice the same prompt at the same place of two branches is refused.
    #[test]
    fn two_matches_are_refused() {
        let turns = [turn(None, "go on", 0, 1), turn(None, "go on", 1, 1)];
        let error = find(&turns, &wanted(None, "go on", 1)).unwrap_err();
        assert_eq!(error.to_string(), "2 turns of the record match “go on”");
    }
}
