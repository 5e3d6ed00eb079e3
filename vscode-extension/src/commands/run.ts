// Runs the program on the command line.

import { execFile } from "node:child_process";

/** What it prints. Fails with its words where it fails. */
export function run(program: string, args: string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim().replace(/^error: /, "") || error.message));
    });
  });
}
