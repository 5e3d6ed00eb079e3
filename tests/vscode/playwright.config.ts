// Browser, time limits, and the place for the artifacts of failures.
import { defineConfig } from '@playwright/test';
import { chromium } from './rig/places.ts';

export default defineConfig({
  testDir: '.',
  // left out of the ordinary run: the rig's own test, since the others use all that it tries; repetitions of a test with
  // another theme or another button; cases of a feature whose main way another test goes
  testIgnore: process.env['BACKSTITCH_LONG'] ? [] : ['smoke.spec.ts'],
  grepInvert: process.env['BACKSTITCH_LONG'] ? [] : /@long/,
  outputDir: '.out/results',
  snapshotPathTemplate: '{testDir}/screens/{testFileName}/{arg}{ext}',
  fullyParallel: true,
  workers: 2,
  // a window and an extension host per test on two processors: what fails once and passes then is named as flaky
  retries: process.env['CI'] ? 2 : 0,
  forbidOnly: !!process.env['CI'],
  // limits for what hangs, not for what is slow: every wait ends with what it waits for
  timeout: 300_000,
  expect: { timeout: 60_000, toPass: { timeout: 60_000 } },
  reporter: [['list'], ['./rig/failures.ts']],
  use: {
    viewport: { width: 1280, height: 800 },
    actionTimeout: 60_000,
    screenshot: 'only-on-failure',
    // a trace costs as much as the test: only what failed once has one
    trace: { mode: 'on-first-retry', screenshots: false },
    permissions: ['clipboard-read', 'clipboard-write'],
    launchOptions: {
      executablePath: chromium,
      chromiumSandbox: false,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-proxy-server',
        // only this machine can be reached
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
    },
  },
});
