//! Git's binary patch format: object names, and deflated bytes in base 85.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::content::blob_id;

/// Git's digits, in order (gitformat: base85.c).
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Maximum number of bytes in a line of a binary patch.
const LINE: usize = 52;

/// Returns the name under which git stores these bytes; all zeros for an absent file.
pub(super) fn blob_name(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else {
        return "0".repeat(40);
    };
    // None only for bytes made to break SHA-1
    blob_id(gix_hash::Kind::Sha1, bytes).map_or_else(|| "0".repeat(40), |name| name.to_string())
}

/// Writes both directions as literals, so that the patch also applies in reverse.
pub(super) fn push_patch(out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
    out.extend_from_slice(b"GIT binary patch\n");
    push_literal(out, new);
    push_literal(out, old);
}

fn push_literal(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(format!("literal {}\n", bytes.len()).as_bytes());
    for line in deflate(bytes).chunks(LINE) {
        out.push(length_digit(line.len()));
        for group in line.chunks(4) {
            push_base85(out, group);
        }
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("writing to memory does not fail")
}

/// Returns `A`–`Z` for 1–26 bytes, `a`–`z` for 27–52.
fn length_digit(length: usize) -> u8 {
    const LENGTHS: &[u8; LINE] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    LENGTHS[length - 1]
}

/// Writes one group of at most four bytes, padded with zeros, as five digits.
fn push_base85(out: &mut Vec<u8>, group: &[u8]) {
    let mut padded = [0; 4];
    padded[..group.len()].copy_from_slice(group);
    let mut rest = u32::from_be_bytes(padded);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 85) as usize];
        rest /= 85;
    }
    out.extend_from_slice(&digits);
}
