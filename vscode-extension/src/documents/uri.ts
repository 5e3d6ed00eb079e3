// URIs of files at a checkpoint, as `server/docs/protocol.md` has them. Pure.

export const SCHEME = "backstitch";

/** `rev` is a checkpoint's id, which has nothing in it that a URI could mistake. */
export type At = { root: string; rev: string; path: string };
export type Parts = { scheme: string; authority: string; path: string };

/**
 * For `Uri.from`, which encodes each part. The workspace stands where others have a host, which has no case: what is more
 * than small ASCII letters in it is `%XX` by itself.
 */
export function parts({ root, rev, path }: At): Parts {
  const escaped = [...Buffer.from(root)].map((byte) => {
    const plain = byte < 0x80 && byte !== 0x25 && !(byte >= 0x41 && byte <= 0x5a);
    return plain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, "0")}`;
  });
  return { scheme: SCHEME, authority: escaped.join(""), path: `/${rev}/${path}` };
}

/** What such parts name; undefined for what was shown and is no file. */
export function parse({ scheme, authority, path }: Parts): At | undefined {
  const found = /^\/([^/]+)\/(.+)$/.exec(path);
  if (scheme !== SCHEME || authority === "view" || found === null) return undefined;
  const [, rev = "", file = ""] = found;
  return { root: decodeURIComponent(authority), rev, path: file };
}
