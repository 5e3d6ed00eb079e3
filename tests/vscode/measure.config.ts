// Measurements instead of tests: tests/vscode/run -c measure.config.ts
import config from './playwright.config.ts';

export default { ...config, testMatch: '*.measure.ts', workers: 1, timeout: 600_000 };
