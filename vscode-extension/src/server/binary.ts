// Where the language server is. Pure: what looks at the disk is handed in.

import * as path from "node:path";

export type Found = { path: string; from: "setting" | "bundled" | "path" };
export type Missing = { path: undefined; tried: string[]; setting: string | undefined };

export type Machine = {
  platform: NodeJS.Platform;
  /** `PATH`. */
  path: string;
  home: string;
  isProgram: (file: string) => boolean;
};

/** The setting; what the extension came with; the first on the PATH; where cargo installs. In this order. */
export function find(setting: string, extension: string, machine: Machine): Found | Missing {
  const name = machine.platform === "win32" ? "backstitch.exe" : "backstitch";
  const wanted = setting.trim();
  if (wanted !== "") {
    const file = wanted.replace(/^~(?=$|[\\/])/, machine.home);
    // what was asked for is not there: no other is as good
    return machine.isProgram(file)
      ? { path: file, from: "setting" }
      : { path: undefined, tried: [file], setting: file };
  }
  const bundled = path.join(extension, "bin", name);
  if (machine.isProgram(bundled)) return { path: bundled, from: "bundled" };
  const separator = machine.platform === "win32" ? ";" : ":";
  const dirs = machine.path.split(separator).filter((dir) => path.isAbsolute(dir));
  const places = [...dirs, path.join(machine.home, ".cargo", "bin")].map((dir) => path.join(dir, name));
  const found = places.find((file) => machine.isProgram(file));
  if (found !== undefined) return { path: found, from: "path" };
  return { path: undefined, tried: [bundled, ...places], setting: undefined };
}
