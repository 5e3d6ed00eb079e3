// corpus.mjs LOCKFILE PACKAGES - the workflows and actions in packages that others have published.
//
// PACKAGES is a directory made by install.sh. Standard output has one JSON object a line:
//   {"kind": "workflow" or "action", "package": "crate-1.2.3", "archive": "/…/crate-1.2.3.crate", "file": "action.yml", "text": "…"}
import { published } from "./packages.mjs";

for (const file of published(...process.argv.slice(2))) process.stdout.write(JSON.stringify(file) + "\n");
