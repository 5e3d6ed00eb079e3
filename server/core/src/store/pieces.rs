//! Large contents, in pieces: cut where their own bytes say so, so that a change leaves nearly all pieces as they are.
//! One piece is in memory at a time. A piece is a content like others; what is cut names its pieces by their hashes.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use fastcdc::v2020::{self, StreamCDC};
use rusqlite::{Connection, params};

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::ContentId;

use super::blobs;
use super::coding::PIECES;

/// From this size on a content is in pieces, and no look at a file holds it whole.
pub(crate) const LARGE: u64 = 16 << 20;

const LEAST: usize = 256 << 10;
const USUAL: usize = 1 << 20;
const MOST: usize = 4 << 20;
/// So much is stored in one transaction: others wait that long to write.
const AT_ONCE: usize = 4 << 20;

/// Cuts a content as it is read.
pub(super) struct Cutter<R: Read> {
    stream: StreamCDC<R>,
    whole: blake3::Hasher,
    size: u64,
    pieces: Vec<ContentId>,
    /// The pieces of what it probably resembles, and where each is among them.
    before: Vec<ContentId>,
    places: HashMap<ContentId, usize>,
    /// Which of them probably comes next.
    next: usize,
}

/// A piece, and what it probably resembles.
struct Piece {
    bytes: Vec<u8>,
    like: Option<ContentId>,
}

impl<R: Read> Cutter<R> {
    pub(super) fn new(conn: &Connection, from: R, like: Option<ContentId>) -> Result<Self> {
        let before = match like.map(|like| blobs::pieces_of(conn, &like)) {
            Some(Ok(Some(pieces))) => pieces,
            // one that is damaged costs the deltas, never the content
            None | Some(Ok(None) | Err(Error::Blob { .. })) => Vec::new(),
            Some(Err(e)) => return Err(e),
        };
        Ok(Self {
            stream: StreamCDC::new(from, LEAST, USUAL, MOST),
            whole: blake3::Hasher::new(),
            size: 0,
            pieces: Vec::new(),
            places: before.iter().copied().zip(0..).collect(),
            before,
            next: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Piece>> {
        let bytes = match self.stream.next() {
            None | Some(Err(v2020::Error::Empty)) => return Ok(None),
            Some(Ok(chunk)) => chunk.data,
            Some(Err(e)) => {
                let source = match e {
                    v2020::Error::IoError(source) => source,
                    other => std::io::Error::other(other.to_string()),
                };
                let what = "read a large file".to_owned();
                return Err(Error::Io { what, source });
            }
        };
        self.whole.update(&bytes);
        self.size += bytes.len() as u64;
        let id = ContentId::of(&bytes);
        self.pieces.push(id);
        let like = self.before.get(self.next).copied();
        self.next = self.places.get(&id).map_or(self.next, |at| *at) + 1;
        Ok(Some(Piece { bytes, like }))
    }

    /// Stores pieces, about as many as others can wait for. `false`: that was all.
    pub(super) fn put_some(&mut self, conn: &Connection, dir: &Path) -> Result<bool> {
        let mut stored = 0;
        while stored < AT_ONCE {
            let Some(piece) = self.next()? else {
                return Ok(false);
            };
            stored += piece.bytes.len();
            blobs::put_piece(conn, dir, &piece.bytes, piece.like)?;
        }
        Ok(true)
    }

    /// Names what was cut, once all pieces are stored. None: others removed some of them since, as nobody named them.
    pub(super) fn put_whole(&self, conn: &Connection) -> Result<Option<(ContentId, u64)>> {
        for piece in &self.pieces {
            if !blobs::has(conn, piece)? {
                return Ok(None);
            }
        }
        let id = ContentId(*self.whole.finalize().as_bytes());
        let data: Vec<u8> = self.pieces.iter().flat_map(|piece| piece.0).collect();
        conn.prepare_cached(
            "INSERT OR IGNORE INTO blob (hash, size, coding, data) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![id, self.size, PIECES, data])?;
        Ok(Some((id, self.size)))
    }
}

/// Stores a content as it is read, within the transaction of the caller.
pub(crate) fn put_stream(
    conn: &Connection,
    dir: &Path,
    from: impl Read,
    like: Option<ContentId>,
) -> Result<(ContentId, u64)> {
    let mut cutter = Cutter::new(conn, from, like)?;
    while cutter.put_some(conn, dir)? {}
    let stored = cutter.put_whole(conn)?;
    stored.ok_or_else(|| Error::refused("the store lost what it was just given", Hint::Unwritable))
}

/// What a row in pieces names.
pub(crate) fn named(data: &[u8]) -> Option<Vec<ContentId>> {
    let (pieces, rest) = data.as_chunks();
    rest.is_empty()
        .then(|| pieces.iter().map(|piece| ContentId(*piece)).collect())
}

/// Reads a content, a large one piece by piece. Only where it ends well was it what was asked for.
pub(crate) fn read(
    conn: &Connection,
    dir: &Path,
    id: &ContentId,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let Some(pieces) = blobs::pieces_of(conn, id)? else {
        return take(&blobs::get(conn, dir, id)?);
    };
    let mut whole = blake3::Hasher::new();
    for piece in pieces {
        let bytes = blobs::get(conn, dir, &piece).map_err(|e| match e {
            Error::Blob { reason, .. } => Error::Blob {
                hash: id.to_string(),
                reason: format!("its piece {piece}: {reason}"),
            },
            other => other,
        })?;
        whole.update(&bytes);
        take(&bytes)?;
    }
    if *whole.finalize().as_bytes() == id.0 {
        return Ok(());
    }
    Err(Error::Blob {
        hash: id.to_string(),
        reason: "does not match its hash".into(),
    })
}
