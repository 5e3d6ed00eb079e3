//! Titles of operations, and sentences about whose work a restore concerns. Terminal and editors have the same. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use backstitch_core::model::{RelPath, Turn};
use backstitch_core::restore::{
    Action, ActionKind, COME_BACK, GapKind, Plan, PlannedTurn, PlannedWork,
};
use backstitch_core::{NamedState, OpKind, OperationSubject, RestoreLimits};

use crate::render::{self, Paint};

/// Maximum columns of a prompt in a title.
const PROMPT_COLUMNS: usize = 40;
/// Maximum number of names in a sentence.
const MAX_NAMED: usize = 3;

/// Ages are left out if there is no current time.
#[derive(Clone, Copy, Debug)]
struct Ages(Option<i64>);

impl Ages {
    fn of(self, time: i64) -> Option<String> {
        let paint = |now| Paint {
            color: false,
            width: 0,
            now,
        };
        self.0.map(|now| paint(now).ago(time))
    }
}

/// Title of a restore that is planned: `Rewind to before “Add a cart” (2 min ago)`.
pub fn title(subject: &OperationSubject, now: i64) -> String {
    let ages = Ages(Some(now));
    match subject {
        OperationSubject::Rewind(state, limits) => {
            format!("Rewind{} to {}", part(limits), state_name(state, ages))
        }
        OperationSubject::Revert(states, limits) => {
            format!("Revert {}{}", work_names(states, ages), within(limits))
        }
        OperationSubject::Undo(of, limits) => format!("Undo the {}{}", noun(of), within(limits)),
        OperationSubject::Redo(of, limits) => format!("Redo the {}{}", noun(of), within(limits)),
        OperationSubject::Switch(branch) => format!("Switch to {}", render::clean(branch)),
        OperationSubject::Other(kind, target) => capital(&other(*kind, target)),
    }
}

/// Title of a restore as a noun, to follow another word: `rewind to before “Add a cart”`.
pub fn noun(subject: &OperationSubject) -> String {
    let ages = Ages(None);
    match subject {
        OperationSubject::Rewind(state, limits) => {
            let of = match part(limits) {
                part if part.is_empty() => part,
                part => format!(" of{part}"),
            };
            format!("rewind{of} to {}", state_name(state, ages))
        }
        OperationSubject::Revert(states, limits) => {
            format!("revert of {}{}", work_names(states, ages), within(limits))
        }
        OperationSubject::Undo(of, limits) => format!("undo of the {}{}", noun(of), within(limits)),
        OperationSubject::Redo(of, limits) => format!("redo of the {}{}", noun(of), within(limits)),
        OperationSubject::Switch(branch) => format!("switch to {}", render::clean(branch)),
        OperationSubject::Other(kind, target) => other(*kind, target),
    }
}

/// Report of a restore that was done: `Rewound to before “Add a cart”`.
pub fn done(subject: &OperationSubject) -> String {
    let ages = Ages(None);
    match subject {
        OperationSubject::Rewind(state, limits) => {
            format!("Rewound{} to {}", part(limits), state_name(state, ages))
        }
        OperationSubject::Revert(states, limits) => {
            format!("Reverted {}{}", work_names(states, ages), within(limits))
        }
        OperationSubject::Undo(of, limits) => format!("Undid the {}{}", noun(of), within(limits)),
        OperationSubject::Redo(of, limits) => format!("Redid the {}{}", noun(of), within(limits)),
        OperationSubject::Switch(branch) => format!("Switched to {}", render::clean(branch)),
        OperationSubject::Other(kind, target) => capital(&other(*kind, target)),
    }
}

/// The part of its target that a restore is limited to, with a blank before it: ` a.txt`, ` some lines of a.txt`; empty
/// without limits.
fn part(limits: &RestoreLimits) -> String {
    if limits.is_none() {
        return String::new();
    }
    let files = places(&limits.paths);
    if limits.lines {
        format!(" some lines of {files}")
    } else {
        format!(" {files}")
    }
}

/// The same as a place: ` in a.txt`.
fn within(limits: &RestoreLimits) -> String {
    match part(limits) {
        part if part.is_empty() => part,
        part => format!(" in{part}"),
    }
}

/// Sentences about the work that a restore concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanSentences {
    /// The sentence that a plan begins with, without a full stop: `Undoes turn “Add a cart” (codex, 2 min ago)`.
    pub first: String,
    /// The other sentences, the most important first.
    pub others: Vec<String>,
    /// The sentences that follow the title. A turn that the title names is not named again.
    pub after_title: Vec<String>,
}

/// Returns the sentences of a plan. `waits`: nothing changes before its conflicts are decided.
pub fn sentences(
    subject: &OperationSubject,
    work: &PlannedWork,
    waits: bool,
    now: i64,
) -> PlanSentences {
    let mut others = other_sentences(subject, work);
    let after_title: Vec<String> = moved_after_title(subject, work)
        .into_iter()
        .chain(others.iter().cloned())
        .collect();
    let first = if let Some(moved) = moved(subject, work, now) {
        moved
    } else if !work.own_go.is_empty() {
        others.remove(0).trim_end_matches('.').to_owned()
    } else if waits {
        "Waits for your decision".to_owned()
    } else {
        title(subject, now)
    };
    PlanSentences {
        first,
        others,
        after_title,
    }
}

/// True if the work of several sessions is concerned: each is named then.
fn has_sessions(work: &PlannedWork) -> bool {
    let going = work.takes.iter().chain(&work.undecided);
    let sessions: BTreeSet<_> = going
        .chain(&work.stays)
        .map(|turn| turn.session.id)
        .collect();
    sessions.len() > 1
}

/// True if later work of other sessions than those whose work goes stays.
pub fn leaves_other_sessions(subject: &OperationSubject, work: &PlannedWork) -> bool {
    let (undecided, stays) = staying(subject, work);
    let goes = |turn: &PlannedTurn| {
        let mut going = work.takes.iter().chain(&undecided);
        going.any(|own| own.session.id == turn.session.id)
    };
    has_sessions(work) && stays.iter().any(|turn| !goes(turn))
}

const fn verb(work: &PlannedWork) -> &'static str {
    if work.brings_back {
        "Brings back"
    } else {
        "Undoes"
    }
}

/// The turns that a plan moves, as its first sentence names them: without ids, and a single one with agent and age.
fn moved(subject: &OperationSubject, work: &PlannedWork, now: i64) -> Option<String> {
    let verb = verb(work);
    if work.takes.is_empty() {
        let (undecided, _) = staying(subject, work);
        let names = turns(&undecided, has_sessions(work), false);
        return (!undecided.is_empty())
            .then(|| format!("{verb} {names}, once its conflicts are decided"));
    }
    let names = turns(&work.takes, has_sessions(work), false);
    Some(match work.takes.as_slice() {
        [only] => {
            let agent = render::clean(&only.session.agent);
            let age = Ages(Some(now)).of(only.time).unwrap_or_default();
            let note = match only.turn {
                Some(_) => format!("{agent}, {age}"),
                // the name of such work has the agent
                None => age,
            };
            format!("{verb} {names} ({note})")
        }
        _ => format!("{verb} {names}"),
    })
}

/// The same as a sentence that follows the title. None: the title says it.
fn moved_after_title(subject: &OperationSubject, work: &PlannedWork) -> Option<String> {
    let several = has_sessions(work);
    let verb = verb(work);
    if work.takes.is_empty() {
        let (undecided, _) = staying(subject, work);
        let names = turns(&undecided, several, true);
        return (!undecided.is_empty() && several)
            .then(|| format!("{verb} {names}, once its conflicts are decided."));
    }
    let is_named = match work.takes.as_slice() {
        [only] => only.turn.as_ref().is_some_and(|turn| {
            names_turn(subject, turn) && (!only.is_part || is_limited(subject))
        }),
        _ => false,
    };
    (!is_named || several).then(|| format!("{verb} {}.", turns(&work.takes, several, true)))
}

/// Splits the turns that stay: those that go once their conflicts are decided come first.
fn staying(subject: &OperationSubject, work: &PlannedWork) -> (Vec<PlannedTurn>, Vec<PlannedTurn>) {
    // a turn that goes stays in files whose conflicts are not decided, too
    let goes = |turn: &PlannedTurn| {
        let is_same =
            |own: &PlannedTurn| (own.session.id, own.node) == (turn.session.id, turn.node);
        work.takes.iter().any(is_same)
            || turn
                .turn
                .as_ref()
                .is_some_and(|turn| names_turn(subject, turn))
    };
    let (mut undecided, stays): (Vec<PlannedTurn>, Vec<PlannedTurn>) =
        work.stays.iter().cloned().partition(goes);
    undecided.extend(work.undecided.iter().cloned());
    undecided.sort_by_key(|turn| std::cmp::Reverse(turn.node));
    undecided.dedup_by_key(|turn| turn.node);
    (undecided, stays)
}

/// The sentences about all but the turns that a plan moves: the user's edits that go come first.
fn other_sentences(subject: &OperationSubject, work: &PlannedWork) -> Vec<String> {
    let mut lines = Vec::new();
    let (_, stays) = staying(subject, work);
    if !work.own_go.is_empty() {
        let verb = if work.brings_back {
            "Brings back"
        } else {
            "Discards"
        };
        let files = in_files(&work.own_go);
        lines.push(format!("{verb} your own edits in {files}."));
    }
    if !stays.is_empty() {
        lines.push(format!(
            "Keeps {}.",
            turns(&stays, has_sessions(work), true)
        ));
    }
    if !work.own_stay.is_empty() {
        let files = in_files(&work.own_stay);
        lines.push(format!("Your own edits in {files} stay."));
    }
    let mut unsaved: Vec<(&str, Vec<&RelPath>)> = Vec::new();
    for (path, editor) in &work.unsaved {
        match unsaved.iter_mut().find(|(name, _)| *name == editor) {
            Some((_, paths)) => paths.push(path),
            None => unsaved.push((editor, vec![path])),
        }
    }
    for (editor, paths) in unsaved {
        let names = named(paths.iter().map(|path| shown(path)).collect());
        lines.push(format!("Not saved in {}: {names}.", render::clean(editor)));
    }
    lines
}

/// A plan that changes no file, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingDone {
    /// A sentence that says why, and names what stays.
    pub text: String,
    /// True if the files have the state that was asked for, as far as is known.
    pub is_reached: bool,
}

/// Says why a plan changes no file. All front ends have this sentence: what was skipped, or was never recorded, is not
/// said to be in the wanted state.
pub fn nothing_done(plan: &Plan) -> NothingDone {
    let name = |path: &[u8]| render::path(path);
    let mut stays: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |why: &str, path: String| {
        let paths = stays.entry(render::clean(why)).or_default();
        if !paths.contains(&path) {
            paths.push(path);
        }
    };
    let is_skipped = |a: &&Action| a.kind == ActionKind::Skip && !plan.is_kept_by_choice(&a.path);
    for action in plan.actions.iter().filter(is_skipped) {
        let why = action.reason.as_deref().unwrap_or("it was left out");
        note(why, name(action.path.bytes()));
    }
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    for gap in &plan.gaps {
        let Some(path) = &gap.path else { continue };
        let skipped = plan
            .actions
            .iter()
            .any(|a| a.path.bytes() == path.as_slice());
        match gap.kind {
            // the plan says that the recorded files of a directory come back
            GapKind::Ignored if gap.detail.contains(COME_BACK) => {}
            GapKind::Ignored if gap.detail.contains("removed") => gone.push(name(path)),
            GapKind::Ignored if !path.ends_with(b"/") || gap.detail.contains("inside") => {
                changed.push(name(path));
            }
            GapKind::Uncertain
            | GapKind::TooLarge
            | GapKind::Unreadable
            | GapKind::Special
            | GapKind::Unsaved
            | GapKind::VersionControl => {
                if !skipped {
                    note(&gap.detail, name(path));
                }
            }
            GapKind::Ignored
            | GapKind::Outside
            | GapKind::Excluded
            | GapKind::Failed
            | GapKind::Pending
            | GapKind::Unknown
            | GapKind::HardLink
            | GapKind::GitHead
            | GapKind::Attributes
            | GapKind::Directory => {}
        }
    }
    let mut sentences = Vec::new();
    for (why, paths) in stays {
        sentences.push(format!("{}: {why}", named(paths)));
    }
    let verbs = [
        (gone, ["is gone, and was", "are gone, and were"]),
        (changed, ["has changed, and was", "have changed, and were"]),
    ];
    for (paths, [one, many]) in verbs {
        if !paths.is_empty() {
            let count = render::plural(paths.len(), "ignored path", "ignored paths");
            let verb = if paths.len() == 1 { one } else { many };
            sentences.push(format!("{count} {verb} not recorded: {}", named(paths)));
        }
    }
    let is_reached = sentences.is_empty();
    let text = match (&plan.nothing, is_reached) {
        (Some(why), true) => format!("Nothing to do: {}.", render::clean(why)),
        (None, true) if !plan.conflicts.is_empty() => {
            "Nothing to do: the current lines of what conflicts are kept.".to_owned()
        }
        (None, true) => "Nothing to do: the recorded files already have that state.".to_owned(),
        (why, false) => {
            let why = why.iter().map(|why| render::clean(why));
            let all: Vec<String> = why.chain(sentences).collect();
            format!("Nothing was changed. Not restored: {}.", all.join("; "))
        }
    };
    NothingDone { text, is_reached }
}

/// Warning that an agent may change the files once more.
pub fn warning(work: &PlannedWork) -> Option<&'static str> {
    if work.is_agent_at_work {
        Some("An agent is working now, and may write to these files again.")
    } else if work.is_turn_open {
        Some("A turn has not ended yet: its agent may write to these files again.")
    } else {
        None
    }
}

/// True if the title of an operation names this turn.
fn names_turn(subject: &OperationSubject, turn: &Turn) -> bool {
    let begins = |state: &NamedState| state.begins.as_ref().is_some_and(|own| own.id == turn.id);
    match subject {
        OperationSubject::Rewind(state, _) => begins(state),
        OperationSubject::Revert(states, _) => states.iter().any(begins),
        OperationSubject::Undo(of, _) | OperationSubject::Redo(of, _) => names_turn(of, turn),
        OperationSubject::Switch(_) | OperationSubject::Other(..) => false,
    }
}

/// True if the title of an operation says that it is limited to some files or lines.
fn is_limited(subject: &OperationSubject) -> bool {
    match subject {
        OperationSubject::Rewind(_, limits) | OperationSubject::Revert(_, limits) => {
            !limits.is_none()
        }
        OperationSubject::Undo(of, limits) | OperationSubject::Redo(of, limits) => {
            !limits.is_none() || is_limited(of)
        }
        OperationSubject::Switch(_) | OperationSubject::Other(..) => false,
    }
}

/// Names turns by session: `turn “Add a cart” and 2 turns (t4, t7) of session B`. `with_numbers`: where several turns have no
/// name, their numbers are listed.
fn turns(turns: &[PlannedTurn], several_sessions: bool, with_numbers: bool) -> String {
    let mut sessions: Vec<(String, Vec<&PlannedTurn>)> = Vec::new();
    for turn in turns {
        let letter = turn.session.id.letter();
        match sessions.iter_mut().find(|(of, _)| *of == letter) {
            Some((_, own)) => own.push(turn),
            None => sessions.push((letter, vec![turn])),
        }
    }
    let parts = sessions.into_iter().map(|(letter, own)| {
        let mut text = turns_of_session(&own, with_numbers);
        if several_sessions {
            text = format!("{text} of session {letter}");
        }
        text
    });
    and(parts.collect())
}

/// Names the turns of one session, those of which only a part is meant after the others.
fn turns_of_session(turns: &[&PlannedTurn], with_numbers: bool) -> String {
    let prompts = |is_part: bool| -> Vec<&Turn> {
        let those = turns.iter().filter(|turn| turn.is_part == is_part);
        those.filter_map(|turn| turn.turn.as_ref()).collect()
    };
    let (whole, parts) = (prompts(false), prompts(true));
    if whole.is_empty() && parts.is_empty() {
        let agent = turns.first().map(|turn| render::clean(&turn.session.agent));
        return format!("the work of {}", agent.unwrap_or_default());
    }
    let mut texts = Vec::new();
    if !whole.is_empty() {
        texts.push(names_of_turns(&whole, with_numbers));
    }
    if !parts.is_empty() {
        let of = if parts.len() == 1 {
            "a part of"
        } else {
            "parts of"
        };
        texts.push(format!("{of} {}", names_of_turns(&parts, with_numbers)));
    }
    and(texts)
}

fn names_of_turns(turns: &[&Turn], with_numbers: bool) -> String {
    match turns {
        [only] => {
            let prompt = prompt(only);
            if prompt.is_empty() {
                format!("turn t{}", only.number)
            } else {
                format!("turn {prompt}")
            }
        }
        several if with_numbers => {
            let numbers = several.iter().rev().map(|turn| format!("t{}", turn.number));
            let numbers = named(numbers.collect());
            format!("{} turns ({numbers})", several.len())
        }
        several => format!("{} turns", several.len()),
    }
}

/// Names a state: `before “Add a cart”` or `c18 “works”`.
fn state_name(state: &NamedState, ages: Ages) -> String {
    let age = ages.of(state.time);
    if let Some(turn) = &state.begins {
        return format!("before {}", turn_name(turn, age));
    }
    let mut text = state.node.to_string();
    if let Some(label) = &state.label {
        let label = render::cut(&render::clean(label), PROMPT_COLUMNS);
        write!(text, " “{label}”").ok();
    }
    let within = state.within.as_ref().map(|turn| match prompt(turn) {
        prompt if prompt.is_empty() => format!("in t{}", turn.number),
        prompt => format!("in {prompt}"),
    });
    let notes: Vec<String> = within.into_iter().chain(age).collect();
    if !notes.is_empty() {
        write!(text, " ({})", notes.join(", ")).ok();
    }
    text
}

/// Names the work of turns and steps: `“Add a cart” and c18`.
fn work_names(states: &[NamedState], ages: Ages) -> String {
    let names = states.iter().map(|state| match &state.begins {
        Some(turn) => turn_name(turn, ages.of(state.time)),
        None => state_name(state, ages),
    });
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    and(names)
}

/// The prompt of a turn. Its id is the name where there is no prompt.
fn turn_name(turn: &Turn, age: Option<String>) -> String {
    let name = match prompt(turn) {
        prompt if prompt.is_empty() => format!("t{}", turn.number),
        prompt => prompt,
    };
    match age {
        Some(age) => format!("{name} ({age})"),
        None => name,
    }
}

/// Returns the prompt in quotes, cut; empty if there is none.
fn prompt(turn: &Turn) -> String {
    let prompt = render::cut(&render::clean(&turn.prompt), PROMPT_COLUMNS);
    let prompt = prompt.trim();
    if prompt.is_empty() {
        String::new()
    } else {
        format!("“{prompt}”")
    }
}

fn other(kind: OpKind, target: &str) -> String {
    let to = if kind == OpKind::Rewind { " to" } else { "" };
    format!("{}{to} {}", kind.name(), render::clean(target))
        .trim_end()
        .to_owned()
}

fn shown(path: &RelPath) -> String {
    render::path(path.bytes())
}

/// Names the files and directories that a restore is limited to, or counts them where they are many.
fn places(paths: &[RelPath]) -> String {
    if paths.len() > MAX_NAMED {
        return format!("{} paths", paths.len());
    }
    named(paths.iter().map(shown).collect())
}

fn in_files(paths: &[RelPath]) -> String {
    match paths {
        [only] => shown(only),
        several => render::plural(several.len(), "file", "files"),
    }
}

/// Lists names, and the number of those that are left out.
fn named(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED + 1);
    if more > 0 {
        names.truncate(MAX_NAMED);
        return format!("{} and {} more", names.join(", "), more + 1);
    }
    names.join(", ")
}

fn and(mut names: Vec<String>) -> String {
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use backstitch_core::model::{NodeId, Session, SessionId, TurnId};

    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn turn(number: i64, prompt: &str) -> Turn {
        Turn {
            id: TurnId(number),
            number,
            session: SessionId(1),
            prompt: prompt.to_owned(),
            node: NodeId(number),
        }
    }

    fn before(number: i64, prompt: &str) -> NamedState {
        NamedState {
            node: NodeId(number),
            begins: Some(turn(number, prompt)),
            within: None,
            label: None,
            time: 0,
        }
    }

    fn planned(session: i64, number: i64, prompt: &str) -> PlannedTurn {
        PlannedTurn {
            session: Session {
                id: SessionId(session),
                agent: "codex".into(),
                native: "x".into(),
                transcript: None,
            },
            turn: Some(turn(number, prompt)),
            node: NodeId(number),
            time: 0,
            is_part: false,
        }
    }

    fn rewind(state: NamedState) -> OperationSubject {
        OperationSubject::Rewind(state, RestoreLimits::default())
    }

    fn after_title(subject: &OperationSubject, work: &PlannedWork) -> Vec<String> {
        sentences(subject, work, false, 0).after_title
    }

    #[test]
    fn a_plan_begins_with_whose_work_it_moves_without_ids() {
        let subject = rewind(before(9, "a"));
        let begin = |work: &PlannedWork| {
            let words = sentences(&subject, work, false, 2 * MINUTE);
            (words.first, words.others)
        };
        let mut work = PlannedWork {
            takes: vec![planned(1, 9, "a")],
            own_stay: vec![RelPath::new("cart.ts").unwrap()],
            ..PlannedWork::default()
        };
        let stay = vec!["Your own edits in cart.ts stay.".to_owned()];
        let first = "Undoes turn “a” (codex, 2 min ago)".to_owned();
        assert_eq!(begin(&work), (first, stay.clone()));
        work.takes.push(planned(2, 7, "b"));
        let first = "Undoes turn “a” of session A and turn “b” of session B".to_owned();
        assert_eq!(begin(&work), (first, stay.clone()));
        work.takes = vec![planned(1, 9, "a"), planned(1, 8, "b")];
        work.brings_back = true;
        assert_eq!(
            begin(&work),
            ("Brings back 2 turns".to_owned(), stay.clone())
        );
        work.takes = Vec::new();
        assert_eq!(
            begin(&work),
            ("Rewind to before “a” (2 min ago)".to_owned(), stay.clone())
        );
        work.own_go = vec![RelPath::new("b.ts").unwrap()];
        let first = "Brings back your own edits in b.ts".to_owned();
        assert_eq!(begin(&work), (first, stay));
    }

    #[test]
    fn titles_name_the_prompt_and_the_age() {
        let rewind = rewind(before(9, "Mark bread\nas vegan"));
        assert_eq!(
            title(&rewind, 2 * MINUTE),
            "Rewind to before “Mark bread” (2 min ago)"
        );
        assert_eq!(done(&rewind), "Rewound to before “Mark bread”");
        let undo = OperationSubject::Undo(Box::new(rewind), RestoreLimits::default());
        assert_eq!(
            title(&undo, 2 * MINUTE),
            "Undo the rewind to before “Mark bread”"
        );
        assert_eq!(noun(&undo), "undo of the rewind to before “Mark bread”");
        let step = NamedState {
            begins: None,
            within: Some(turn(4, "")),
            ..before(18, "")
        };
        assert_eq!(
            title(
                &OperationSubject::Revert(vec![before(3, ""), step], RestoreLimits::default()),
                0
            ),
            "Revert t3 (just now) and c18 (in t4, just now)"
        );
    }

    #[test]
    fn summary_does_not_repeat_the_title() {
        let work = PlannedWork {
            takes: vec![planned(1, 9, "a")],
            ..PlannedWork::default()
        };
        let named = rewind(before(9, "a"));
        assert_eq!(after_title(&named, &work), [""; 0]);
        let undo = OperationSubject::Undo(Box::new(named), RestoreLimits::default());
        assert_eq!(after_title(&undo, &work), [""; 0]);
        let earlier = rewind(before(7, "b"));
        assert_eq!(after_title(&earlier, &work), ["Undoes turn “a”."]);
    }

    #[test]
    fn a_part_of_a_turn_is_told_from_the_whole() {
        let mut part = planned(1, 9, "a");
        part.is_part = true;
        let mut work = PlannedWork {
            takes: vec![part.clone()],
            ..PlannedWork::default()
        };
        let named = rewind(before(9, "a"));
        assert_eq!(after_title(&named, &work), ["Undoes a part of turn “a”."]);
        let limits = RestoreLimits {
            paths: vec![RelPath::new("cart.ts").unwrap()],
            lines: false,
        };
        let limited = OperationSubject::Rewind(before(9, "a"), limits.clone());
        assert_eq!(after_title(&limited, &work), [""; 0]);
        assert_eq!(done(&limited), "Rewound cart.ts to before “a”");
        assert_eq!(noun(&limited), "rewind of cart.ts to before “a”");
        let lines = RestoreLimits {
            lines: true,
            ..limits
        };
        let revert = OperationSubject::Revert(vec![before(9, "a")], lines);
        assert_eq!(
            title(&revert, 0),
            "Revert “a” (just now) in some lines of cart.ts"
        );
        assert_eq!(noun(&revert), "revert of “a” in some lines of cart.ts");
        work.takes = vec![planned(1, 10, "b"), part, planned(1, 8, "c")];
        assert_eq!(
            after_title(&named, &work),
            ["Undoes 2 turns (t8, t10) and a part of turn “a”."]
        );
    }

    #[test]
    fn a_turn_that_goes_is_not_said_to_stay_where_it_conflicts() {
        let subject = rewind(before(8, "b"));
        let mut work = PlannedWork {
            takes: vec![planned(1, 9, "a")],
            stays: vec![planned(1, 9, "a"), planned(1, 8, "b")],
            ..PlannedWork::default()
        };
        assert_eq!(after_title(&subject, &work), ["Undoes turn “a”."]);
        work.takes = Vec::new();
        assert_eq!(after_title(&subject, &work), ["Keeps turn “a”."]);
        // a conflict in the only session
        assert!(!leaves_other_sessions(&subject, &work));
        work.stays.push(planned(2, 10, "c"));
        assert!(leaves_other_sessions(&subject, &work));
    }

    #[test]
    fn summary_says_whose_work_goes_and_whose_stays() {
        let subject = rewind(before(5, "a"));
        let path = |path: &str| RelPath::new(path).unwrap();
        let mut work = PlannedWork {
            takes: vec![planned(1, 7, "c"), planned(1, 5, "a")],
            own_stay: vec![path("cart.ts")],
            ..PlannedWork::default()
        };
        assert_eq!(
            after_title(&subject, &work),
            [
                "Undoes 2 turns (t5, t7).",
                "Your own edits in cart.ts stay."
            ]
        );
        work.stays = vec![planned(2, 8, "Fix it")];
        work.own_go = vec![path("a"), path("b")];
        work.unsaved = vec![(path("a"), "Neovim".into()), (path("b"), "Neovim".into())];
        assert_eq!(
            after_title(&subject, &work),
            [
                "Undoes 2 turns (t5, t7) of session A.",
                "Discards your own edits in 2 files.",
                "Keeps turn “Fix it” of session B.",
                "Your own edits in cart.ts stay.",
                "Not saved in Neovim: a, b."
            ]
        );
    }
}
