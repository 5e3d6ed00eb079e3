// Generated from the catalogues of the server: do not edit. BACKSTITCH_RENEW_TYPES=1 cargo nextest run -p backstitch-tests generated

/** Settings that the server takes from VS Code. */
export const KEYS = [
  "capture.exclude",
  "capture.include",
  "capture.maxFileSize",
  "codeLens",
  "restore.default",
  "store.dir",
  "store.keepDays",
  "store.maxBytes",
  "checkpoints.max",
  "checkpoints.automatic",
  "jobs.problems",
] as const;
