// schema.mjs DIR - makes DIR/schema.json, the JSON schema of the Debug Adapter Protocol, of the declarations of
// @vscode/debugprotocol in DIR/node_modules. These are made of the protocol's own schema.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const dir = resolve(process.argv[2]);
const require = createRequire(join(dir, 'package.json'));
const { createGenerator } = require('ts-json-schema-generator');

// the generator reads exported types alone
const declared = readFileSync(join(dir, 'node_modules/@vscode/debugprotocol/lib/debugProtocol.d.ts'), 'utf8');
const inside = declared.slice(declared.indexOf('export declare module'), declared.lastIndexOf('}'));
const lines = inside.split('\n').slice(1).map((line) => line.replace(/^\t(interface|type) /, 'export $1 '));
const file = join(dir, 'protocol.ts');
writeFileSync(file, lines.join('\n'));

const schema = createGenerator({ path: file, type: '*', expose: 'all', skipTypeCheck: true }).createSchema('*');

// Numbers of the protocol are whole, but for a percentage.
const tighten = (part, name) => {
  if (Array.isArray(part)) {
    part.forEach((one) => tighten(one, name));
  } else if (part && typeof part === 'object') {
    if (name !== 'percentage' && part.type === 'number') part.type = 'integer';
    if (Array.isArray(part.type)) part.type = part.type.map((one) => (one === 'number' ? 'integer' : one));
    for (const [key, value] of Object.entries(part)) {
      if (key === 'properties' || key === 'definitions') {
        for (const [inner, one] of Object.entries(value)) tighten(one, inner);
      } else {
        tighten(value, name);
      }
    }
    delete part.description;
  }
};
tighten(schema, '');

const count = (end) => Object.keys(schema.definitions).filter((name) => name.endsWith(end)).length;
if (count('Request') < 40 || count('Response') < 40 || count('Event') < 15) {
  throw new Error(`the declarations have a new form: ${Object.keys(schema.definitions).join(' ')}`);
}
writeFileSync(join(dir, 'schema.json'), JSON.stringify(schema));
