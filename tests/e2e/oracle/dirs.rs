//! Directories, with files and without: a lone agent makes, removes, moves and changes them in its commands. A rewind to before a turn gives
//! the whole tree of that moment, again and there and back; a repository under any name stays as it is, and so do owners. The clock
//! may be wrong, and times of files may be old.

use std::fmt::Write as _;

use crate::faithful::{Facts, facts, is_superuser, set_attribute};
use crate::support::World;
use crate::support::rng::{Rng, cases};
use crate::support::tree::{Tree, difference};

const DIRS: [&str; 9] = ["p", "p/q", "p/q/r", "s", "s/t", "s/t/u", "d", "d/x", "v"];
/// A bare repository, whose name says nothing.
const STORE: &str = "depot";
/// Errors of the clock, in seconds.
pub const CLOCK_ERRORS: [i64; 8] = [0, 0, 1, -1, 3600, -3600, 800 * 86_400, -800 * 86_400];

fn command(rng: &mut Rng) -> String {
    let dir = *rng.pick(&DIRS);
    match rng.below(13) {
        0 | 1 => format!("mkdir -p {dir}"),
        2 => format!("rmdir {dir} 2>/dev/null; true"),
        3 => format!(
            "test ! -d {dir} || chmod {} {dir}",
            rng.pick(&["700", "750", "755"])
        ),
        4 => format!("echo {} >> a.txt", rng.below(100)),
        5 => format!("echo {} > d/e.txt 2>/dev/null; true", rng.below(100)),
        6 => {
            let to = *rng.pick(&DIRS);
            format!("test -e {to} || mv {dir} {to} 2>/dev/null; true")
        }
        7 => format!("test ! -d {dir} || echo {} > {dir}/f.txt", rng.below(100)),
        8 => format!("rm -f {dir}/f.txt"),
        9 => format!("chmod {} a.txt", rng.pick(&["600", "644", "755"])),
        10 => format!("touch -d {} a.txt", rng.pick(&["2001-02-03", "2040-01-01"])),
        // only the superuser may
        11 => format!(
            "chown {} a.txt 2>/dev/null; true",
            rng.pick(&["1000:1001", "1002"])
        ),
        _ => format!("rm -rf {dir}; echo {} >> {STORE}/description", rng.below(9)),
    }
}

/// The tree without the repository, and the repository.
fn parts(world: &World) -> (Tree, Tree) {
    let (of_store, rest) = world
        .tree()
        .into_iter()
        .partition(|(path, _)| path.starts_with(STORE));
    (rest, of_store)
}

struct Played {
    world: World,
    /// The tree before each turn.
    before: Vec<Tree>,
    done: String,
    /// Other errors of the clock while the history is restored.
    clock: Rng,
}

fn set_clock(world: &World, rng: &mut Rng) {
    world.set_clock_error(*rng.pick(&CLOCK_ERRORS));
}

impl Played {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let world = World::committed(&[("a.txt", "a\n"), ("d/e.txt", "e\n"), ("s/u.txt", "u\n")]);
        let world = world.with_clock();
        if is_superuser(&world) {
            std::os::unix::fs::chown(world.path("a.txt"), Some(1000), Some(1001)).expect("chown");
        }
        set_attribute(&world, "a.txt", "user.note", b"mine");
        world.git_ok(["init", "-q", "--bare", STORE]);
        let mut agent = world.agent();
        agent.session_start();
        let (mut before, mut done) = (Vec::new(), String::new());
        for turn in 1..=1 + rng.below(4) {
            set_clock(&world, &mut rng);
            before.push(parts(&world).0);
            agent.prompt(&format!("turn {turn}"));
            for _ in 0..=rng.below(3) {
                let many: Vec<String> = (0..=rng.below(3)).map(|_| command(&mut rng)).collect();
                let command = many.join("; ");
                writeln!(done, "  turn {turn}: {command}").expect("written");
                agent.bash(&command);
            }
            agent.stop();
        }
        Self {
            world,
            before,
            done,
            clock: rng,
        }
    }

    fn check(&mut self, exact: bool) -> Result<(), String> {
        let world = &self.world;
        let after = parts(world);
        let owned: Facts = facts(world, "a.txt");
        for (at, before) in self.before.iter().enumerate() {
            let turn = format!("t{}", at + 1);
            let mut args = vec!["rewind", &turn, "--yes"];
            args.extend(exact.then_some("--exact"));
            let same = |wanted: &Tree, what: &str| {
                let (now, store) = parts(world);
                if store != after.1 {
                    return Err(format!("{what}: the repository was touched"));
                }
                let (is, was) = (facts(world, "a.txt"), &owned);
                // the mode is the tree's
                if (is.0, is.1, &is.3) != (was.0, was.1, &was.3) {
                    return Err(format!("{what}: a.txt was {was:?} and is {is:?}"));
                }
                if now == *wanted {
                    return Ok(());
                }
                Err(format!("{what}: {}", difference(wanted, &now)))
            };
            set_clock(world, &mut self.clock);
            let rewound = world.run(&args);
            if rewound.code != 0 {
                return Err(format!("{turn}: {rewound}"));
            }
            same(before, &format!("{turn}: {rewound}"))?;
            let again = world.run(&args);
            if !again.stdout.contains("Nothing to do") {
                return Err(format!("{turn} again: {again}"));
            }
            if !rewound.stdout.contains("Nothing to do") {
                let undone = world.run(["undo", "--yes"]);
                same(&after.0, &format!("undo of {turn}: {undone}"))?;
            }
        }
        let verified = world.run(["verify"]);
        if verified.code == 0 {
            Ok(())
        } else {
            Err(verified.to_string())
        }
    }
}

/// S3-033 code rewind undoes all tracked edits from the turn on, U-18 repeating a rewind does no harm, U-20 restoring is all or
/// nothing, survives a crash and can be undone: the tree before a turn comes back with its directories, and goes again.
#[test]
fn directories_are_those_of_the_moment() {
    for seed in 0..cases("BACKSTITCH_DIR_CASES", 24, 400) {
        let mut played = Played::new(seed);
        if let Err(why) = played.check(seed % 2 == 1) {
            panic!("seed {seed}: {why}\n{}", played.done);
        }
    }
}
