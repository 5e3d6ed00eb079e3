//! Encoding of contents: raw, compressed, or as a delta against another content. Pure.

use std::cell::RefCell;

use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

use super::tables::blob::Coding;

/// Below this size a delta saves nothing worth the chain.
pub(super) const MIN_DELTA: usize = 128;
const LEVEL: i32 = 3;
/// The first scan compresses everything at once: speed counts.
const BULK_LEVEL: i32 = 1;
/// From this size on speed also counts for one content, because others wait to write.
const BULK_SIZE: usize = 1 << 20;
/// For a delta nearly everything is one long match, which the long-distance matcher finds anywhere. A higher level
/// only clears larger tables; it is tried when this level gives a large delta.
const DELTA_LEVEL: i32 = 1;
/// A delta of at most this fraction of its content is good enough.
const GOOD_DELTA_FRACTION: usize = 16;
/// Magic number of a zstd dictionary.
const DICTIONARY: [u8; 4] = 0xEC30_A437_u32.to_le_bytes();

thread_local! {
    /// One compressor per thread: making one costs as much as compressing a small file.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> =
        RefCell::new(zstd::bulk::Compressor::new(BULK_LEVEL).ok());
    /// One decoder per thread: making one queries the processor's features, which is slow in a virtual machine.
    static DECODER: RefCell<Option<DCtx<'static>>> = RefCell::new(DCtx::try_create());
}

/// Compresses one of many contents by itself.
pub(super) fn in_bulk(bytes: Vec<u8>) -> (Coding, Vec<u8>) {
    let compressed =
        COMPRESSOR.with_borrow_mut(|own| own.as_mut().and_then(|c| c.compress(&bytes).ok()));
    match compressed {
        Some(data) if data.len() < bytes.len() => (Coding::Zstd, data),
        _ => (Coding::Raw, bytes),
    }
}

/// Compresses a content by itself.
pub(super) fn compress(bytes: &[u8]) -> (Coding, Vec<u8>) {
    let level = if bytes.len() < BULK_SIZE {
        LEVEL
    } else {
        BULK_LEVEL
    };
    match zstd::bulk::compress(bytes, level) {
        Ok(data) if data.len() < bytes.len() => (Coding::Zstd, data),
        _ => (Coding::Raw, bytes.to_vec()),
    }
}

/// Compresses a content against another one, if that is smaller than the content by itself.
pub(super) fn delta(bytes: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    let quick = compress_against(bytes, prefix, DELTA_LEVEL).ok()?;
    if quick.len() <= (bytes.len() / GOOD_DELTA_FRACTION).max(MIN_DELTA / 2) {
        return Some(quick);
    }
    // many small differences: short matches count, too
    let thorough = compress_against(bytes, prefix, LEVEL).ok()?;
    let best = [quick, thorough].into_iter().min_by_key(Vec::len)?;
    let (_, alone) = compress(bytes);
    (best.len() < alone.len()).then_some(best)
}

fn compress_against(bytes: &[u8], prefix: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let mut context = CCtx::try_create().ok_or(std::io::ErrorKind::OutOfMemory)?;
    for parameter in [
        CParameter::CompressionLevel(level),
        CParameter::WindowLog(window_log(bytes.len() + prefix.len())),
        CParameter::EnableLongDistanceMatching(true),
    ] {
        context.set_parameter(parameter).map_err(failed)?;
    }
    context.ref_prefix(prefix).map_err(failed)?;
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
    context.compress2(&mut out, bytes).map_err(failed)?;
    Ok(out)
}

fn window_log(len: usize) -> u32 {
    (usize::BITS - len.max(1024).leading_zeros() + 1).min(30)
}

/// Decompresses in one call into a buffer of `size`. More data than that does not fit, which proves damage.
pub(super) fn decompress(data: &[u8], prefix: &[u8], size: usize) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(size);
    if prefix.starts_with(&DICTIONARY) {
        // here it is a content, and must not be read as a dictionary
        let mut context = DCtx::try_create().ok_or(std::io::ErrorKind::OutOfMemory)?;
        context.ref_prefix(prefix).map_err(failed)?;
        context.decompress(&mut out, data).map_err(failed)?;
    } else {
        DECODER.with_borrow_mut(|context| {
            let context = context.as_mut().ok_or(std::io::ErrorKind::OutOfMemory)?;
            context
                .decompress_using_dict(&mut out, data, prefix)
                .map_err(failed)
        })?;
    }
    Ok(out)
}

fn failed(code: usize) -> std::io::Error {
    std::io::Error::other(zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use super::{DELTA_LEVEL, DICTIONARY, compress, compress_against, decompress, delta};

    /// Lines that have little in common.
    fn numbers(count: u32) -> Vec<u8> {
        let line = |n: u32| {
            format!(
                "let v{n} = f{};\n",
                n.wrapping_mul(2_654_435_761) % 9_999_991
            )
        };
        (0..count).flat_map(|n| line(n).into_bytes()).collect()
    }

    /// Lines of words, as in many programs.
    fn words() -> Vec<String> {
        let words = "alpha beta gamma delta width height offset buffer handle return struct index value length total";
        let words: Vec<&str> = words.split(' ').collect();
        let pick = |n: u32, k: u32| {
            let x = n.wrapping_mul(2_654_435_761).wrapping_add(k * 40_503);
            let x = (x ^ (x >> 15)).wrapping_mul(2_246_822_519);
            (x >> 13) as usize
        };
        let line = |n: u32| {
            let count = 4 + pick(n, 9) % 4;
            let line = (0..)
                .take(count)
                .map(|k| words[pick(n, k) % words.len()])
                .collect::<Vec<_>>();
            format!("    {};\n", line.join(" "))
        };
        (0..12_000).map(line).collect()
    }

    #[test]
    fn a_changed_line_costs_little_however_large_the_content_is() {
        for count in [2_000, 20_000, 400_000] {
            let before = numbers(count);
            let mut after = before.clone();
            for at in [before.len() / 3, before.len() / 2] {
                after.splice(at..at + 5, *b"something else");
            }
            let delta = delta(&after, &before).expect("a delta");
            let most = 120 + before.len() / 4_000;
            assert!(
                delta.len() < most,
                "{} of {} bytes",
                delta.len(),
                before.len()
            );
            let back = decompress(&delta, &before, after.len()).expect("decompressed");
            assert!(back == after);
        }
    }

    #[test]
    fn a_little_changed_everywhere() {
        let lines = words();
        let before = lines.concat().into_bytes();
        let indented = lines.concat().replace("    ", "\t\t").into_bytes();
        let spaced = lines.iter().enumerate().map(|(n, line)| {
            if n % 3 == 0 {
                line.replace(' ', "  ")
            } else {
                line.clone()
            }
        });
        let spaced = spaced.collect::<String>().into_bytes();
        let quick = |after: &[u8]| {
            compress_against(after, &before, DELTA_LEVEL)
                .expect("compressed")
                .len()
        };
        let alone = |after: &[u8]| compress(after).1.len();

        assert!(quick(&indented) > alone(&indented));
        let of_indented = delta(&indented, &before).map(|delta| delta.len());
        assert!(of_indented.is_none_or(|len| len < alone(&indented)));

        let of_spaced = delta(&spaced, &before).expect("a delta");
        assert!(of_spaced.len() < quick(&spaced).min(alone(&spaced)));
        let back = decompress(&of_spaced, &before, spaced.len()).expect("decompressed");
        assert!(back == spaced);

        let noise = (0..2000_u32).flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes());
        assert!(delta(&noise.collect::<Vec<u8>>(), &before).is_none());
    }

    #[test]
    fn a_zstd_dictionary_is_stored_like_any_content() {
        let before = [&DICTIONARY[..], &numbers(500)].concat();
        let after = [&before[..], b"more\n"].concat();
        let delta = delta(&after, &before).expect("a delta");
        assert!(delta.len() < 200, "{}", delta.len());
        let back = decompress(&delta, &before, after.len()).expect("decompressed");
        assert_eq!(back, after);
    }
}
