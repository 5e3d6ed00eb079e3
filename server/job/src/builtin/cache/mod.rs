//! `actions/cache`, `actions/cache/restore` and `actions/cache/save`, onto a directory beside the runs.

mod archive;
mod store;

use super::target::check_allowed;
use super::{ActionCall, ActionResult};
use crate::glob::{FollowLinks, Globs, SearchRules};
use crate::place::RunPlace;
use crate::repository::ProjectRepository;
use archive::Base;
use store::{CacheEntry, CacheStore};

/// Characters of a key.
const MAX_KEY: usize = 512;

/// Names of the values that the main part leaves to the post part, as in the real action.
const PRIMARY_KEY: &str = "CACHE_KEY";
const MATCHED_KEY: &str = "CACHE_RESULT";

/// `actions/cache`: restores now, and saves after the job.
pub(super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let mut done = restored(call)?;
    done.has_post = true;
    Ok(done)
}

/// `actions/cache/restore`.
pub(super) fn restore(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    restored(call)
}

/// `actions/cache/save`.
pub(super) fn save(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let key = required_key(call)?.to_owned();
    save_key(call, &key)
}

/// The post part of `actions/cache`.
pub(super) fn post(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let state = |name: &str| {
        let named = |(known, _): &&(String, String)| known == name;
        call.state
            .iter()
            .find(named)
            .map(|(_, value)| value.clone())
    };
    let Some(key) = state(PRIMARY_KEY) else {
        call.say("The cache was not restored, so it is not saved.");
        return Ok(ActionResult::default());
    };
    if state(MATCHED_KEY).is_some_and(|matched| matched.eq_ignore_ascii_case(&key)) {
        call.say(&format!(
            "Cache hit occurred on the primary key {key}, not saving cache."
        ));
        return Ok(ActionResult::default());
    }
    save_key(call, &key)
}

/// Removes a cache whose process was killed while it saved.
pub(super) fn clean_up(place: &RunPlace, repository: &ProjectRepository) {
    CacheStore::of(place, repository).clean_up(place);
}

fn required_key<'a>(call: &ActionCall<'a>) -> Result<&'a str, String> {
    match call.given().text("key") {
        "" => Err("Input required and not supplied: key".to_owned()),
        key => check_key(key).map(|()| key),
    }
}

fn check_key(key: &str) -> Result<(), String> {
    if key.chars().count() > MAX_KEY {
        return Err(format!(
            "Key Validation Error: {key} cannot be larger than {MAX_KEY} characters."
        ));
    }
    if key.contains(',') {
        return Err(format!(
            "Key Validation Error: {key} cannot contain commas."
        ));
    }
    Ok(())
}

fn required_paths<'a>(call: &ActionCall<'a>) -> Result<Vec<&'a str>, String> {
    let paths = call.given().lines("path");
    if paths.is_empty() {
        return Err("Input required and not supplied: path".to_owned());
    }
    Ok(paths)
}

/// Paths of the step as absolute patterns; those of the user are refused.
fn globs(call: &ActionCall<'_>, paths: &[&str]) -> Result<Globs, String> {
    let home = call.variable("HOME").unwrap_or("/");
    let lines = paths.join("\n");
    let globs = Globs::parse(&lines, &call.place.workspace, home.as_ref(), false)
        .map_err(|error| error.to_string())?;
    for start in globs.search_paths() {
        check_allowed(call, &start)?;
    }
    Ok(globs)
}

fn restored(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let inputs = call.given();
    let key = required_key(call)?;
    let paths = required_paths(call)?;
    let prefixes = inputs.lines("restore-keys");
    for prefix in &prefixes {
        check_key(prefix)?;
    }
    globs(call, &paths)?;
    let mut done = ActionResult {
        outputs: vec![("cache-primary-key".to_owned(), key.to_owned())],
        state: vec![(PRIMARY_KEY.to_owned(), key.to_owned())],
        ..ActionResult::default()
    };
    let store = CacheStore::of(call.place, call.repository);
    let unreachable = |error: std::io::Error| {
        format!(
            "the cache cannot be read: {error}: make the directory readable, or remove the damaged cache"
        )
    };
    let Some(entry) = store.find(&paths, key, &prefixes).map_err(unreachable)? else {
        let keys: Vec<&str> = std::iter::once(key).chain(prefixes).collect();
        if inputs.boolean("fail-on-cache-miss", false)? {
            return Err(format!(
                "Failed to restore cache entry. Exiting as fail-on-cache-miss is set. Input key: {key}"
            ));
        }
        call.say(&format!(
            "Cache not found for input keys: {}",
            keys.join(", ")
        ));
        return Ok(done);
    };
    let is_exact = entry.key.eq_ignore_ascii_case(key);
    if inputs.boolean("lookup-only", false)? {
        call.say(&format!(
            "Cache found and can be restored from key: {}",
            entry.key
        ));
    } else {
        extract(call, &entry)?;
        call.say(&format!("Cache restored from key: {}", entry.key));
    }
    done.outputs
        .push(("cache-hit".to_owned(), is_exact.to_string()));
    done.outputs
        .push(("cache-matched-key".to_owned(), entry.key.clone()));
    done.state.push((MATCHED_KEY.to_owned(), entry.key));
    Ok(done)
}

fn extract(call: &ActionCall<'_>, entry: &CacheEntry) -> Result<(), String> {
    for base in Base::ALL {
        let archive = entry.archive(base);
        if archive.exists() {
            archive::extract(&archive, &base.directory(call.place), entry.compression).map_err(|error| {
                format!("the cache {} was not restored: {error}: make room for it, then run the job again", entry.key)
            })?;
        }
    }
    Ok(())
}

fn save_key(call: &mut ActionCall<'_>, key: &str) -> Result<ActionResult, String> {
    let paths = required_paths(call)?;
    let globs = globs(call, &paths)?;
    let failed = |error: std::io::Error| {
        format!(
            "the cache {key} was not saved: {error}: make room for it and its files readable, then run the job again"
        )
    };
    let store = CacheStore::of(call.place, call.repository);
    if store.has(&paths, key) {
        call.say(&format!(
            "A cache with the key {key} and these paths exists already, not saving cache."
        ));
        return Ok(ActionResult::default());
    }
    let rules = SearchRules {
        follow: FollowLinks::Into(&[&call.place.files, &call.place.workspace]),
        ..SearchRules::default()
    };
    let found = globs.find(rules).map_err(failed)?.paths;
    if found.is_empty() {
        // a warning on GitHub, too: a job that makes nothing to cache is not wrong
        call.say(
            "::warning::Path Validation Error: Path(s) specified in the action for caching do(es) not exist, hence no cache is being saved.",
        );
        return Ok(ActionResult::default());
    }
    let size = store
        .save(call.place, &paths, key, &found)
        .map_err(failed)?;
    call.say(&match size {
        Some(size) => format!("Cache saved with key: {key} ({size} bytes)"),
        None => format!("Another run has saved the cache with key: {key}"),
    });
    Ok(ActionResult::default())
}

#[cfg(test)]
mod tests;
