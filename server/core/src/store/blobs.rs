//! Contents by BLAKE3 hash. Each is compressed, against its previous version if that helps. Contents that one hook
//! writes are in the database; bulk contents are in append-only pack files. Every read verifies the hash.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rusqlite::Connection;

use crate::error::{Context, Error, Result};
use crate::model::ContentId;

use super::coding::{self, MIN_DELTA, compress, decompress, delta};
use super::pieces;
use super::tables::blob::{self, BlobRow, Coding, NewBlob, NewPacked, Packing};

pub(crate) use super::tables::blob::{has, number};

/// Number of versions after which a content starts a new chain. Version n of a chain is stored against version n with
/// its lowest set bit cleared. So at most 8 contents are read to get one, and a delta spans few edits on average.
const CHAIN: i64 = 256;

/// Stores a content in the database, within the caller's transaction. `base` is a content that it probably resembles.
pub(crate) fn put(
    conn: &Connection,
    dir: &Path,
    bytes: &[u8],
    base: Option<ContentId>,
) -> Result<ContentId> {
    if bytes.len() as u64 >= crate::content::LARGE {
        let id = ContentId::of(bytes);
        if !has(conn, &id)? {
            pieces::put_stream(conn, dir, bytes, base)?;
        }
        return Ok(id);
    }
    put_piece(conn, dir, bytes, base)
}

/// Returns None instead of an error about a damaged content.
fn readable<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(Error::Blob { .. }) => Ok(None),
        found => found,
    }
}

/// Stores a content in one piece.
pub(super) fn put_piece(
    conn: &Connection,
    dir: &Path,
    bytes: &[u8],
    base: Option<ContentId>,
) -> Result<ContentId> {
    let id = ContentId::of(bytes);
    if has(conn, &id)? {
        return Ok(id);
    }
    let mut coded = None;
    if let Some(base) = base.filter(|_| bytes.len() >= MIN_DELTA)
        // an unreadable base costs the delta, never the content
        && let Some(previous) = readable(blob::by_hash(conn, &base))?
        && previous.coding != Coding::Pieces
        && let Some((pos, row)) = readable(next_in_chain(conn, previous))?
        && let Ok(prefix) = read(conn, dir, &row)
        && let Some(delta) = delta(bytes, &prefix)
    {
        coded = Some((Coding::Delta, Some(row.n), pos, delta));
    }
    let (coding, base, pos, data) = coded.unwrap_or_else(|| {
        let (coding, data) = compress(bytes);
        (coding, None, 0, data)
    });
    let new = NewBlob {
        id,
        size: bytes.len() as u64,
        coding,
        base,
        pos,
        data: &data,
    };
    blob::insert(conn, &new)?;
    Ok(id)
}

/// Returns the position of the version after `previous`, and the version to store it against.
fn next_in_chain(conn: &Connection, previous: BlobRow) -> Result<Option<(i64, BlobRow)>> {
    let pos = previous.pos + 1;
    if pos >= CHAIN {
        return Ok(None);
    }
    let mut at = previous;
    while at.pos > pos & (pos - 1) {
        let Some(base) = at.base else { return Ok(None) };
        let Some(above) = blob::by_number(conn, base)? else {
            return Ok(None);
        };
        at = above;
    }
    Ok(Some((pos, at)))
}

/// Stores a content by itself that was stored as a delta.
pub(crate) fn put_alone(conn: &Connection, dir: &Path, n: i64) -> Result<()> {
    let Some(row) = blob::by_number(conn, n)? else {
        return Ok(());
    };
    let bytes = read(conn, dir, &row)?;
    let hash = blob::hash(conn, n)?;
    if ContentId::of(&bytes) != hash {
        return Err(broken(&row, "does not match its hash"));
    }
    let (coding, data) = compress(&bytes);
    blob::set_alone(conn, n, coding, &data)
}

/// Reads a content and verifies it.
pub(crate) fn get(conn: &Connection, dir: &Path, id: &ContentId) -> Result<Vec<u8>> {
    let blob = |reason: &str| Error::Blob {
        hash: id.to_string(),
        reason: reason.into(),
    };
    let Some(row) = blob::by_hash(conn, id)? else {
        return crate::git::backed::content(id).ok_or_else(|| blob("not in the store"));
    };
    let bytes = read(conn, dir, &row).map_err(|e| match e {
        Error::Sqlite(_) => e,
        other => blob(&other.to_string()),
    })?;
    if ContentId::of(&bytes) == *id {
        Ok(bytes)
    } else {
        Err(blob("does not match its hash"))
    }
}

fn read(conn: &Connection, dir: &Path, row: &BlobRow) -> Result<Vec<u8>> {
    if row.coding == Coding::Pieces {
        return join(conn, dir, row);
    }
    let base = match base_of(conn, row)? {
        Some(base) => read(conn, dir, &base)?,
        None => Vec::new(),
    };
    decode(dir, row, &base)
}

/// Returns the pieces of a content. None: it is in one piece, or missing.
pub(crate) fn pieces_of(conn: &Connection, id: &ContentId) -> Result<Option<Vec<ContentId>>> {
    let Some(data) = blob::pieces(conn, id)? else {
        return Ok(None);
    };
    let named = pieces::named(&data);
    named.map(Some).ok_or_else(|| Error::Blob {
        hash: id.to_string(),
        reason: "does not list its pieces".into(),
    })
}

fn join(conn: &Connection, dir: &Path, row: &BlobRow) -> Result<Vec<u8>> {
    let named = row.data.as_deref().and_then(pieces::named);
    let mut whole = Vec::new();
    for piece in named.ok_or_else(|| broken(row, "does not list its pieces"))? {
        let Some(piece) = blob::by_hash(conn, &piece)?.filter(|p| p.coding != Coding::Pieces)
        else {
            return Err(broken(row, "a piece of it is missing"));
        };
        whole.extend_from_slice(&read(conn, dir, &piece)?);
    }
    Ok(whole)
}

fn broken(row: &BlobRow, reason: &str) -> Error {
    Error::Blob {
        hash: format!("row {}", row.n),
        reason: reason.into(),
    }
}

/// Returns the content that this one is stored against.
fn base_of(conn: &Connection, row: &BlobRow) -> Result<Option<BlobRow>> {
    if row.coding != Coding::Delta {
        return Ok(None);
    }
    let base = row.base.ok_or_else(|| broken(row, "has no base"))?;
    let base = blob::by_number(conn, base)?.ok_or_else(|| broken(row, "its base is missing"))?;
    if base.pos >= row.pos {
        return Err(broken(row, "its base comes after it"));
    }
    Ok(Some(base))
}

fn decode(dir: &Path, row: &BlobRow, base: &[u8]) -> Result<Vec<u8>> {
    let packed;
    let data: &[u8] = match (&row.data, &row.packing) {
        (Some(data), _) => data,
        (None, Some(Packing { pack, at, len })) => {
            let path = packs(dir).join(pack);
            let mut file = File::open(&path).at("open", &path)?;
            file.seek(SeekFrom::Start(*at)).at("read", &path)?;
            let mut buffer = vec![0; *len];
            file.read_exact(&mut buffer).at("read", &path)?;
            packed = buffer;
            &packed
        }
        (None, None) => return Err(broken(row, "has no data")),
    };
    match row.coding {
        Coding::Raw => Ok(data.to_vec()),
        Coding::Zstd | Coding::Delta => {
            decompress(data, base, row.size).map_err(|_| broken(row, "cannot be decompressed"))
        }
        Coding::Pieces => Err(broken(row, "is stored against a content in pieces")),
    }
}

/// Reader for contents of which many are versions of each other: caches decoded contents, within bounds.
pub(crate) struct ContentReader<'a> {
    conn: &'a Connection,
    dir: &'a Path,
    decoded: HashMap<i64, Rc<[u8]>>,
    held: usize,
}

impl<'a> ContentReader<'a> {
    const MAX_HELD: usize = 32 << 20;

    pub(crate) fn new(conn: &'a Connection, dir: &'a Path) -> Self {
        Self {
            conn,
            dir,
            decoded: HashMap::new(),
            held: 0,
        }
    }

    /// Reads a content and verifies it.
    pub(crate) fn get(&mut self, id: &ContentId) -> Result<Rc<[u8]>> {
        let blob = |reason: &str| Error::Blob {
            hash: id.to_string(),
            reason: reason.into(),
        };
        let row = blob::by_hash(self.conn, id)?.ok_or_else(|| blob("not in the store"))?;
        let bytes = self.read(&row)?;
        if ContentId::of(&bytes) == *id {
            Ok(bytes)
        } else {
            Err(blob("does not match its hash"))
        }
    }

    fn read(&mut self, row: &BlobRow) -> Result<Rc<[u8]>> {
        if let Some(bytes) = self.decoded.get(&row.n) {
            return Ok(Rc::clone(bytes));
        }
        if row.coding == Coding::Pieces {
            return join(self.conn, self.dir, row).map(Rc::from);
        }
        let base = match base_of(self.conn, row)? {
            Some(base) => self.read(&base)?,
            None => Rc::default(),
        };
        let bytes: Rc<[u8]> = decode(self.dir, row, &base)?.into();
        if self.held + bytes.len() > Self::MAX_HELD {
            self.decoded.clear();
            self.held = 0;
        }
        self.held += bytes.len();
        self.decoded.insert(row.n, Rc::clone(&bytes));
        Ok(bytes)
    }
}

pub(crate) fn packs(dir: &Path) -> PathBuf {
    dir.join("packs")
}

/// Age below which another process may still be writing a pack.
const ORPHAN_AGE: std::time::Duration = std::time::Duration::from_hours(1);

/// Returns the names of packs that nobody is writing any longer.
pub(crate) fn old_packs(dir: &Path) -> Vec<String> {
    std::fs::read_dir(packs(dir))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| {
            let written = e.metadata().and_then(|m| m.modified()).ok();
            written
                .and_then(|at| at.elapsed().ok())
                .is_some_and(|age| age > ORPHAN_AGE)
        })
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|e| e == "pack"))
        .collect()
}

/// Removes the packs of this list that no row names.
pub(crate) fn remove_orphans(conn: &Connection, dir: &Path, old: Vec<String>) -> Result<()> {
    let named = blob::packs(conn)?;
    for name in old.into_iter().filter(|name| !named.contains(name)) {
        std::fs::remove_file(packs(dir).join(name)).ok();
    }
    Ok(())
}

/// Writes many contents into one new pack file. The rows that name them are inserted after `seal`, so a pack without
/// rows is only an orphan.
pub(crate) struct PackWriter {
    name: String,
    path: PathBuf,
    file: std::io::BufWriter<File>,
    pos: u64,
    rows: Vec<NewPacked>,
}

impl PackWriter {
    pub(crate) fn create(dir: &Path, now: i64) -> Result<Self> {
        let folder = packs(dir);
        super::make_private_dir(&folder)?;
        let name = format!("{now}-{}.pack", std::process::id());
        let path = folder.join(&name);
        let file = super::private_file(&path)
            .write(true)
            .create_new(true)
            .open(&path)
            .at("create", &path)?;
        Ok(Self {
            name,
            path,
            file: std::io::BufWriter::with_capacity(1 << 20, file),
            pos: 0,
            rows: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, packed: &Packed) -> Result<()> {
        self.file.write_all(&packed.data).at("write", &self.path)?;
        let len = packed.data.len();
        self.rows.push(NewPacked {
            id: packed.id,
            size: packed.size,
            coding: packed.coding,
            at: self.pos,
            len,
        });
        self.pos += len as u64;
        Ok(())
    }

    /// Makes the contents durable. Only then may rows name them.
    pub(crate) fn seal(mut self) -> Result<SealedPack> {
        self.file.flush().at("write", &self.path)?;
        crate::fault::point("pack written");
        self.file.get_ref().sync_all().at("sync", &self.path)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|d| d.sync_all())
            .at("sync", folder)?;
        crate::fault::point("pack sealed");
        Ok(SealedPack {
            name: self.name,
            path: self.path,
            rows: self.rows,
        })
    }
}

/// Copy of a pack that has only the contents that rows name.
pub(crate) struct Repacked {
    old: String,
    name: String,
    /// The content's row and its new position.
    places: Vec<(i64, u64)>,
}

impl Repacked {
    /// Writes the new pack and makes it durable.
    pub(crate) fn write(conn: &Connection, dir: &Path, old: &str) -> Result<Self> {
        let path = packs(dir).join(old);
        let mut from = File::open(&path).at("open", &path)?;
        let mut pack = PackWriter::create(dir, super::now())?;
        let mut places = Vec::new();
        for (n, at, len) in blob::in_pack(conn, old)? {
            let mut data = vec![0; len];
            from.seek(SeekFrom::Start(at)).at("read", &path)?;
            from.read_exact(&mut data).at("read", &path)?;
            places.push((n, pack.pos));
            pack.file.write_all(&data).at("write", &pack.path)?;
            pack.pos += len as u64;
        }
        let sealed = pack.seal()?;
        Ok(Self {
            old: old.to_owned(),
            name: sealed.name,
            places,
        })
    }

    /// Points the rows to the new pack.
    pub(crate) fn update_rows(&self, conn: &Connection) -> Result<()> {
        for (n, at) in &self.places {
            blob::repack(conn, *n, (&self.old, &self.name), *at)?;
        }
        Ok(())
    }

    /// Leaves the old pack to be removed as an orphan once it is old enough. A reader may still use the old rows.
    pub(crate) fn retire_old(&self, dir: &Path) {
        let path = packs(dir).join(&self.old);
        if let Ok(file) = File::options().append(true).open(path) {
            file.set_modified(std::time::SystemTime::now()).ok();
        }
    }
}

/// An encoded content, ready to be written; made by any thread.
pub(crate) struct Packed {
    pub id: ContentId,
    size: usize,
    coding: Coding,
    data: Vec<u8>,
}

impl Packed {
    /// `id` is the hash of `bytes`.
    pub(crate) fn new(id: ContentId, bytes: Vec<u8>) -> Self {
        let size = bytes.len();
        let (coding, data) = coding::in_bulk(bytes);
        Self {
            id,
            size,
            coding,
            data,
        }
    }
}

#[must_use]
pub(crate) struct SealedPack {
    name: String,
    path: PathBuf,
    rows: Vec<NewPacked>,
}

impl SealedPack {
    pub(crate) fn insert(&self, conn: &Connection) -> Result<()> {
        // a pack that waited for hours may have been removed as an orphan
        std::fs::metadata(&self.path).at("find", &self.path)?;
        blob::insert_packed(conn, &self.name, &self.rows)
    }
}
