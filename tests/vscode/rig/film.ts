// Joins pictures into one animated PNG, without encoding them again.
import fs from 'node:fs';
import zlib from 'node:zlib';

export interface Picture {
  png: Buffer;
  /** Duration in milliseconds. */
  shown: number;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** All frames have one size. The film loops. */
export function film(file: string, pictures: Picture[]): void {
  const [first] = pictures;
  if (first === undefined) throw new Error('a film without pictures');
  const header = chunks(first.png).find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(0);
  const parts = [SIGNATURE, chunk('IHDR', header), chunk('acTL', numbers(pictures.length, 0))];
  let sequence = 0;
  for (const [at, { png, shown }] of pictures.entries()) {
    const own = chunks(png);
    if (!own.find(({ type }) => type === 'IHDR')?.data.equals(header)) throw new Error('pictures of several kinds');
    const delay = Buffer.alloc(6);
    delay.writeUInt16BE(shown, 0);
    delay.writeUInt16BE(1000, 2);
    // its whole size, at the corner
    parts.push(chunk('fcTL', Buffer.concat([numbers(sequence++), header.subarray(0, 8), numbers(0, 0), delay])));
    for (const { type, data } of own) {
      if (type !== 'IDAT') continue;
      parts.push(at === 0 ? chunk('IDAT', data) : chunk('fdAT', Buffer.concat([numbers(sequence++), data])));
    }
  }
  parts.push(chunk('IEND', Buffer.alloc(0)));
  fs.writeFileSync(file, Buffer.concat(parts));
}

function chunks(png: Buffer): { type: string; data: Buffer }[] {
  const found = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const size = png.readUInt32BE(at);
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + size) });
    at += 12 + size;
  }
  return found;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([numbers(data.length), body, numbers(zlib.crc32(body))]);
}

function numbers(...all: number[]): Buffer {
  const bytes = Buffer.alloc(4 * all.length);
  for (const [at, number] of all.entries()) bytes.writeUInt32BE(number, 4 * at);
  return bytes;
}
