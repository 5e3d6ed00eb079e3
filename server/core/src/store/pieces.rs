//! Large contents, stored in pieces. The content's own bytes decide the cuts, so a change leaves nearly all pieces
//! unchanged. Only one piece is in memory at a time. A piece is an ordinary content; the row of the whole lists its
//! pieces by hash.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use fastcdc::v2020::{self, StreamCDC};
use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::ContentId;

use super::blobs;
use super::tables::blob::{self, Coding, NewBlob};

const MIN_PIECE: usize = 256 << 10;
const AVERAGE_PIECE: usize = 1 << 20;
const MAX_PIECE: usize = 4 << 20;
/// Bytes stored in one transaction: other writers wait that long.
const TRANSACTION_SIZE: usize = 4 << 20;

/// Cuts a content while reading it.
pub(super) struct Cutter<R: Read> {
    stream: StreamCDC<R>,
    whole: blake3::Hasher,
    size: u64,
    pieces: Vec<ContentId>,
    /// The pieces of the content that it probably resembles, and the position of each.
    before: Vec<ContentId>,
    places: HashMap<ContentId, usize>,
    /// Index of the old piece that probably comes next.
    next: usize,
}

/// A piece, and the content that it probably resembles.
struct Piece {
    bytes: Vec<u8>,
    like: Option<ContentId>,
}

impl<R: Read> Cutter<R> {
    pub(super) fn new(conn: &Connection, from: R, like: Option<ContentId>) -> Result<Self> {
        let before = match like.map(|like| blobs::pieces_of(conn, &like)) {
            Some(Ok(Some(pieces))) => pieces,
            // a damaged base costs the deltas, never the content
            None | Some(Ok(None) | Err(Error::Blob { .. })) => Vec::new(),
            Some(Err(e)) => return Err(e),
        };
        Ok(Self {
            stream: StreamCDC::new(from, MIN_PIECE, AVERAGE_PIECE, MAX_PIECE),
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

    /// Stores pieces for about as long as others can wait. `false`: that was all.
    pub(super) fn put_some(&mut self, conn: &Connection, dir: &Path) -> Result<bool> {
        let mut stored = 0;
        while stored < TRANSACTION_SIZE {
            let Some(piece) = self.next()? else {
                return Ok(false);
            };
            stored += piece.bytes.len();
            blobs::put_piece(conn, dir, &piece.bytes, piece.like)?;
        }
        Ok(true)
    }

    /// Inserts the row of the whole, once all pieces are stored. None: others have removed some pieces, because no
    /// row named them.
    pub(super) fn put_whole(&self, conn: &Connection) -> Result<Option<(ContentId, u64)>> {
        for piece in &self.pieces {
            if !blobs::has(conn, piece)? {
                return Ok(None);
            }
        }
        let id = ContentId(*self.whole.finalize().as_bytes());
        let data: Vec<u8> = self.pieces.iter().flat_map(|piece| piece.0).collect();
        let new = NewBlob {
            id,
            size: self.size,
            coding: Coding::Pieces,
            base: None,
            pos: 0,
            data: &data,
        };
        blob::insert(conn, &new)?;
        Ok(Some((id, self.size)))
    }
}

/// Stores a content while reading it, within the caller's transaction.
pub(crate) fn put_stream(
    conn: &Connection,
    dir: &Path,
    from: impl Read,
    like: Option<ContentId>,
) -> Result<(ContentId, u64)> {
    let mut cutter = Cutter::new(conn, from, like)?;
    while cutter.put_some(conn, dir)? {}
    let stored = cutter.put_whole(conn)?;
    stored.ok_or_else(|| {
        Error::refused(
            "the store lost a content that was just stored",
            Hint::Unwritable,
        )
    })
}

/// Parses the hashes of the pieces in a row.
pub(crate) fn named(data: &[u8]) -> Option<Vec<ContentId>> {
    let (pieces, rest) = data.as_chunks();
    rest.is_empty()
        .then(|| pieces.iter().map(|piece| ContentId(*piece)).collect())
}

/// Reads a content, a large one piece by piece. The bytes are verified only if it returns Ok.
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
