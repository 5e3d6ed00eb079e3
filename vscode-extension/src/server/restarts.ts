// How often a server that dies is started anew. Pure.

/** So many times within this, in milliseconds. */
const MOST = 4;
const WITHIN = 3 * 60_000;

export class Restarts {
  private times: number[] = [];

  /** Whether it is to be started once more. */
  again(now: number): boolean {
    this.times = [...this.times.filter((time) => now - time < WITHIN), now];
    return this.times.length <= MOST;
  }
}
