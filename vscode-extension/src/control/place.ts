// URIs of the documents of held calls. Each has the file's own path, so that VS Code treats both sides as one file, and shows
// its name, its folder and the letter of its change. Pure.

export const HELD_SCHEME = "backstitch-held";

/**
 * `kind`: a side of a predicted file, the input of the tool, or its shell command. `path` is relative to the root, or absolute
 * outside of it.
 */
export type HeldPlace = {
  id: string;
  root: string;
  kind: "now" | "then" | "input" | "command";
  path: string;
};
type Parts = { scheme: string; path: string; query: string };

export function uriParts({ id, root, kind, path }: HeldPlace): Parts {
  const query = JSON.stringify({ id, kind, root, path });
  return { scheme: HELD_SCHEME, path: path.startsWith("/") ? path : `/${path}`, query };
}

/** Parses such parts; undefined for other documents. */
export function placeOf({ scheme, query }: Parts): HeldPlace | undefined {
  if (scheme !== HELD_SCHEME) return undefined;
  try {
    const place = JSON.parse(query) as Partial<HeldPlace>;
    const { id, root, kind, path } = place;
    const isKnown = kind === "now" || kind === "then" || kind === "input" || kind === "command";
    if (typeof id !== "string" || typeof root !== "string" || typeof path !== "string" || !isKnown) {
      return undefined;
    }
    return { id, root, kind, path };
  } catch {
    return undefined;
  }
}
