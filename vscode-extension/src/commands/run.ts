// Runs the program on the command line.

import { execFile } from "node:child_process";

/** Returns its output. Fails with its message. */
export function run(program: string, args: string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim().replace(/^error: /, "") || error.message));
    });
  });
}
