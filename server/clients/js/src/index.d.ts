/** Somebody had a paused call throw this. */
export class Raised extends Error {}
/** The bridge cannot be reached. */
export class BridgeLost extends Error {}
/** Begins to watch. `binary`: the program backstitch. `lost`: the outcome if its bridge can no longer be started. */
export function on(options?: { binary?: string; lost?: "raise" | "continue" }): void;
/** Ends it: every wrapper is a plain call from here on. */
export function off(): void;
export function isOn(): boolean;
/** Calls a function. Breakpoints can stop before the call, and after it. */
export function call<A extends unknown[], R>(f: (...args: A) => R, ...args: A): R;
/** Returns a function or an object whose calls are watched. */
export function watch<T extends object>(target: T, name?: string): T;
/** Stands still. `evaluate`: `s => eval(s)` gives inputs the names of the place. */
export function pause(label?: string, evaluate?: (source: string) => unknown): void;
