// Where each checkpoint stands in a graph of branches, and which lines lead to it. Pure.

export type Node = { id: string; parent: string | null };
export type Placed<N extends Node> = {
  node: N;
  row: number;
  lane: number;
  /** The lane and row of its parent; undefined where that is not shown. */
  parent: { row: number; lane: number } | undefined;
};
export type Graph<N extends Node> = { rows: Placed<N>[]; lanes: number };

/**
 * Newest first, one row each. A lane goes from a tip down to where its first node's parent stands on another lane; a lane
 * that has ended is used again.
 */
export function lanes<N extends Node>(newestFirst: readonly N[]): Graph<N> {
  /** What each lane waits for: the parent of what stood in it last. */
  const waiting: (string | undefined)[] = [];
  const places = new Map<string, { row: number; lane: number }>();
  let most = 0;
  newestFirst.forEach((node, row) => {
    const own = waiting.flatMap((id, lane) => (id === node.id ? [lane] : []));
    const free = waiting.indexOf(undefined);
    const lane = own[0] ?? (free < 0 ? waiting.length : free);
    // other lanes end here: their branches began at this node
    for (const ended of own) waiting[ended] = undefined;
    waiting[lane] = node.parent ?? undefined;
    places.set(node.id, { row, lane });
    most = Math.max(most, waiting.length);
  });
  const rows = newestFirst.map((node): Placed<N> => {
    const { row, lane } = places.get(node.id) ?? { row: 0, lane: 0 };
    return { node, row, lane, parent: node.parent === null ? undefined : places.get(node.parent) };
  });
  return { rows, lanes: most };
}
