// URIs of files at a checkpoint, as specified in `server/docs/protocol.md`. Pure.

export const SCHEME = "backstitch";

/** `rev` is the id of a checkpoint, which needs no escaping. */
export type At = { root: string; rev: string; path: string };
export type UriParts = { scheme: string; authority: string; path: string };

/**
 * Parts for `Uri.from`, which encodes each of them. The workspace takes the place of the host, which is case-insensitive:
 * capitals, `%` and non-ASCII bytes of it are escaped as `%XX` first.
 */
export function parts({ root, rev, path }: At): UriParts {
  const escaped = [...Buffer.from(root)].map((byte) => {
    const plain = byte < 0x80 && byte !== 0x25 && !(byte >= 0x41 && byte <= 0x5a);
    return plain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, "0")}`;
  });
  return { scheme: SCHEME, authority: escaped.join(""), path: `/${rev}/${path}` };
}

/** Parses such parts; undefined for a view, which is not a file. */
export function parse({ scheme, authority, path }: UriParts): At | undefined {
  const found = /^\/([^/]+)\/(.+)$/.exec(path);
  if (scheme !== SCHEME || authority === "view" || found === null) return undefined;
  const [, rev = "", file = ""] = found;
  return { root: decodeURIComponent(authority), rev, path: file };
}
