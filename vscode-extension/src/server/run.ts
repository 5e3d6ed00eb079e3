// Runs the program on the command line.

import { execFile } from "node:child_process";

import * as vscode from "vscode";

/** Returns its output. Fails with its message. */
export function run(program: string, args: string[], cwd?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim().replace(/^error: /, "") || error.message));
    });
  });
}

/** Time for which a program may take to say its version, in milliseconds. */
const VERSION_TIMEOUT = 10_000;

/** Returns the version that a program reports; undefined if it is not Backstitch. */
export function versionOf(file: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    try {
      execFile(file, ["--version"], { timeout: VERSION_TIMEOUT }, (error, stdout) => {
        resolve(error === null && stdout.startsWith("backstitch ") ? stdout.trim() : undefined);
      });
    } catch {
      resolve(undefined);
    }
  });
}

/** Returns its output also where its exit code tells of a finding. Fails with its message if there is none. */
export function report(program: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, maxBuffer: MAX_REPORT }, (error, stdout, stderr) => {
      if (error === null || stdout !== "") resolve(stdout);
      else reject(new Error(stderr.trim().replace(/^error: /, "") || error.message));
    });
  });
}

/** Bytes of a report. */
const MAX_REPORT = 16 * 1024 * 1024;

/** Runs a program in a terminal. Its arguments are a list, which no shell reads. */
export function inTerminal(name: string, program: string, args: string[], cwd: string | undefined): void {
  const place = cwd === undefined ? {} : { cwd };
  vscode.window.createTerminal({ name, shellPath: program, shellArgs: args, ...place }).show();
}
