// candidates.mjs LOCKFILE PACKAGES - jobs of published packages that a machine without a network can run.
//
// They are the jobs for Ubuntu without needs, containers and actions that are absent everywhere. Those of crates run nothing but
// cargo. Standard output has one JSON object a line:
//   {"package": "crate-1.2.3", "archive": "/…/crate-1.2.3.crate", "file": "ci.yml", "event": "push", "job": "test",
//    "steps": ["0", "build"], "uses": ["actions/checkout@v4"]}
// A step is named by its id or its place, as act does.
import { basename, join, resolve } from "node:path";
import { createRequire } from "node:module";
import { published } from "./packages.mjs";

const [lockFile, packages] = process.argv.slice(2);
const { parse } = createRequire(join(resolve(packages), "node_modules/"))("yaml");

const known = {
  crate: ["actions/checkout", "dtolnay/rust-toolchain", "actions-rs/toolchain", "Swatinem/rust-cache"],
  source: ["actions/checkout", "actions/setup-python", "actions/upload-artifact"],
};
/** Commands of cargo that need a network, or a tool that is not a part of every toolchain. */
const FAR = /^cargo (\+|install|publish|add|miri|fuzz|audit|careful|hack|update)/;

const commands = (script) => script.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));

function isCandidate(job, kind) {
  const steps = job.steps ?? [];
  const runs = steps.filter((step) => "run" in step).flatMap((step) => commands(String(step.run)));
  const uses = steps.filter((step) => "uses" in step);
  const isOwn = (step) => !step.with?.repository && known[kind].includes(step.uses.split("@")[0]);
  const isHere = /^ubuntu|matrix/.test(String(job["runs-on"])) && !job.needs && !job.container && !job.services;
  const isPlain = kind === "source" || runs.every((line) => line.startsWith("cargo ") && !FAR.test(line));
  return isHere && runs.length > 0 && uses.every(isOwn) && isPlain;
}

for (const { kind, text, file, package: name, archive } of published(lockFile, packages)) {
  if (kind !== "workflow") continue;
  const { on, jobs } = parse(text);
  const events = typeof on === "string" ? [on] : Array.isArray(on) ? on : Object.keys(on);
  const event = events.includes("push") ? "push" : events[0];
  for (const [id, job] of Object.entries(jobs)) {
    if (!isCandidate(job, archive.endsWith(".crate") ? "crate" : "source")) continue;
    const steps = job.steps.map((step, place) => step.id ?? String(place));
    const uses = job.steps.flatMap((step) => step.uses ?? []);
    process.stdout.write(JSON.stringify({ package: name, archive, file: basename(file), event, job: id, steps, uses }) + "\n");
  }
}
