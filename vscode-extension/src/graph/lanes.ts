// Layout of the graph of branches: the row and lane of each checkpoint, and the lines between them. Pure.

export type Node = { id: string; parent: string | null };
export type Placed<N extends Node> = {
  node: N;
  row: number;
  lane: number;
  /** Lane and row of the parent; undefined if it is not loaded, or if there is none. */
  parent: { row: number; lane: number } | undefined;
  /** True if the parent is not loaded. */
  isCut: boolean;
};
export type Graph<N extends Node> = { rows: Placed<N>[]; lanes: number };

/**
 * One row per node, newest first. A lane runs from a tip down to the first node whose parent is on another lane. Ended lanes
 * are reused.
 */
export function lanes<N extends Node>(newestFirst: readonly N[]): Graph<N> {
  /** Id of the node that each lane expects next: the parent of its last node. */
  const waiting: (string | undefined)[] = [];
  const places = new Map<string, { row: number; lane: number }>();
  let laneCount = 0;
  newestFirst.forEach((node, row) => {
    const own = waiting.flatMap((id, lane) => (id === node.id ? [lane] : []));
    const free = waiting.indexOf(undefined);
    const lane = own[0] ?? (free < 0 ? waiting.length : free);
    // other lanes that expect this node end here: their branches began at it
    for (const ended of own) waiting[ended] = undefined;
    waiting[lane] = node.parent ?? undefined;
    places.set(node.id, { row, lane });
    laneCount = Math.max(laneCount, waiting.length);
  });
  const rows = newestFirst.map((node): Placed<N> => {
    const { row, lane } = places.get(node.id) ?? { row: 0, lane: 0 };
    const parent = node.parent === null ? undefined : places.get(node.parent);
    return { node, row, lane, parent, isCut: node.parent !== null && parent === undefined };
  });
  return { rows, lanes: laneCount };
}
