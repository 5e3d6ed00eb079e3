// Renews the film of the README: tests/vscode/run -c film.config.ts
import config from './playwright.config.ts';

export default { ...config, testMatch: '*.film.ts', workers: 1, use: { ...config.use, viewport: { width: 960, height: 640 } } };
