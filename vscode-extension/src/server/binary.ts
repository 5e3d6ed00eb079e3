// Location of the language server. Pure: access to the disk is a parameter.

import * as path from "node:path";

export type FoundBinary = { path: string; from: "setting" | "bundled" | "path" };
/** `isForeign`: the file is another program. */
export type Missing = { path: undefined; tried: string[]; setting: string | undefined; isForeign?: true };

export type Machine = {
  platform: NodeJS.Platform;
  /** `PATH`. */
  path: string;
  home: string;
  isProgram: (file: string) => boolean;
};

/**
 * Looks for the server in this order: the setting (a bare name on the PATH), the bundled program, the PATH, cargo's
 * directory.
 */
export function find(setting: string, extension: string, machine: Machine): FoundBinary | Missing {
  const name = machine.platform === "win32" ? "backstitch.exe" : "backstitch";
  const wanted = setting.trim();
  const separator = machine.platform === "win32" ? ";" : ":";
  const dirs = machine.path.split(separator).filter((dir) => path.isAbsolute(dir));
  if (wanted !== "") {
    const isName = !/[\\/]/.test(wanted);
    const named = dirs.map((dir) => path.join(dir, wanted)).find((file) => machine.isProgram(file));
    const file = isName ? (named ?? wanted) : wanted.replace(/^~(?=$|[\\/])/, machine.home);
    if (isName && named === undefined) return { path: undefined, tried: [wanted], setting: wanted };
    // no fallback: the user asked for this program
    return machine.isProgram(file)
      ? { path: file, from: "setting" }
      : { path: undefined, tried: [file], setting: file };
  }
  const bundled = path.join(extension, "bin", name);
  if (machine.isProgram(bundled)) return { path: bundled, from: "bundled" };
  const places = [...dirs, path.join(machine.home, ".cargo", "bin")].map((dir) => path.join(dir, name));
  const found = places.find((file) => machine.isProgram(file));
  if (found !== undefined) return { path: found, from: "path" };
  return { path: undefined, tried: [bundled, ...places], setting: undefined };
}
