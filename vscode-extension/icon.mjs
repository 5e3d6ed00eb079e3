// node icon.mjs: draws media/icon.png, the icon of the extension in lists: the stitch of media/backstitch.svg on a tile.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";

const SIZE = 256;
/** Samples of a pixel in each direction. */
const SAMPLES = 4;
const TILE = { margin: 8, radius: 52, top: [0x3b, 0x4d, 0x8f], bottom: [0x1e, 0x2a, 0x52] };
const WIDTH = 17;
const THREAD = [0xff, 0xff, 0xff];
const UNDER = [0x7d, 0xd3, 0xfc];

/** Points of a cubic Bézier curve. */
const curve = ([a, b, c, d]) =>
  Array.from({ length: 41 }, (_, at) => {
    const t = at / 40;
    const u = 1 - t;
    const mix = (i) => u ** 3 * a[i] + 3 * u * u * t * b[i] + 3 * u * t * t * c[i] + t ** 3 * d[i];
    return [mix(0), mix(1)];
  });

// in the units of media/backstitch.svg, whose view box is 24 units wide
const strokes = [
  {
    color: UNDER,
    points: curve([
      [15, 16],
      [15, 7],
      [9, 7],
      [9, 16],
    ]),
  },
  {
    color: UNDER,
    points: [
      [9, 16],
      [4, 16],
    ],
  },
  {
    color: UNDER,
    points: [
      [20, 16],
      [15, 16],
    ],
  },
  {
    color: THREAD,
    points: [
      [4, 8],
      [9, 8],
    ],
  },
  {
    color: THREAD,
    points: [
      [15, 8],
      [20, 8],
    ],
  },
  {
    color: THREAD,
    points: curve([
      [9, 8],
      [9, 17],
      [15, 17],
      [15, 8],
    ]),
  },
].map(({ color, points }) => ({ color, points: points.map(([x, y]) => [(x / 24) * SIZE, (y / 24) * SIZE]) }));

/** Distance from a point to a line from one place to another. */
function distance([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

function isInTile([x, y]) {
  const { margin, radius } = TILE;
  const inner = SIZE / 2 - margin - radius;
  const [dx, dy] = [Math.abs(x - SIZE / 2) - inner, Math.abs(y - SIZE / 2) - inner];
  return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(0, Math.max(dx, dy)) <= radius;
}

/** Color of a point; undefined outside of the tile. */
function colorAt(point) {
  if (!isInTile(point)) return undefined;
  const on = strokes.findLast(({ points }) =>
    points.slice(1).some((to, at) => distance(point, points[at], to) <= WIDTH / 2),
  );
  if (on !== undefined) return on.color;
  const share = point[1] / SIZE;
  return TILE.top.map((value, i) => value + (TILE.bottom[i] - value) * share);
}

function pixel(x, y) {
  const sum = [0, 0, 0];
  let covered = 0;
  for (let at = 0; at < SAMPLES * SAMPLES; at++) {
    const [dx, dy] = [at % SAMPLES, Math.floor(at / SAMPLES)];
    const color = colorAt([x + (dx + 0.5) / SAMPLES, y + (dy + 0.5) / SAMPLES]);
    if (color === undefined) continue;
    covered += 1;
    color.forEach((value, i) => (sum[i] += value));
  }
  const alpha = Math.round((255 * covered) / (SAMPLES * SAMPLES));
  return [...sum.map((value) => Math.round(value / (covered || 1))), alpha];
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

// each row begins with its filter: none
const rows = Array.from({ length: SIZE }, (_, y) => [
  0,
  ...Array.from({ length: SIZE }, (_, x) => pixel(x, y)).flat(),
]);
const header = Buffer.alloc(13);
header.writeUInt32BE(SIZE, 0);
header.writeUInt32BE(SIZE, 4);
// 8 bits for each of red, green, blue and alpha
header.set([8, 6, 0, 0, 0], 8);
const png = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk("IHDR", header),
  chunk("IDAT", deflateSync(Buffer.from(rows.flat()), { level: 9 })),
  chunk("IEND", Buffer.alloc(0)),
]);
writeFileSync(path.join(import.meta.dirname, "media/icon.png"), png);
