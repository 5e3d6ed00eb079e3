// Limit of restarts after crashes of the server. Pure.

/** Maximum number of restarts within a window in milliseconds. */
const MAX_RESTARTS = 4;
const WINDOW = 3 * 60_000;

export class Restarts {
  private times: number[] = [];

  /** Records a crash; true if the server may be restarted. */
  again(now: number): boolean {
    this.times = [...this.times.filter((time) => now - time < WINDOW), now];
    return this.times.length <= MAX_RESTARTS;
  }
}
