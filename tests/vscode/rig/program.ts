// A Python program that pauses, with the client beside the extension under test.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect } from '@playwright/test';
import { backstitch, extension } from './places.ts';
import type { World } from './world.ts';

const client = path.join(extension, '../server/clients/python/src');

/** A Python with the packages of tests/programs; undefined where they are not installed. */
export function pythonWithPackages(): string | undefined {
  const place = process.env['BACKSTITCH_TEST_PROGRAMS'];
  const python = path.join(place ?? '', 'bin/python');
  if (place !== undefined && existsSync(python)) return python;
  expect(process.env['CI'], 'tests/programs/install.sh has not installed the packages').toBeUndefined();
  return undefined;
}

export class Program {
  /** Its output once it has ended; fails on another exit status than 0. */
  readonly ended: Promise<string>;

  constructor(world: World, file: string, python = 'python3') {
    const env = { ...world.env(), PYTHONPATH: client, PYTHONDONTWRITEBYTECODE: '1', BACKSTITCH_BIN: backstitch };
    const child = spawn(python, ['-u', file], { cwd: world.root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (errors += part));
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        if (code === 0) resolve(output);
        else reject(new Error(`${file}: exit status ${code}\n${errors}`));
      });
    });
  }
}
