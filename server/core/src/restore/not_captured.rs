//! Contents that were not captured, as gaps of a plan.

use super::types::GapKind;
use crate::model::{FileVersion, Image, Opaque};

/// Detail of a gap for a special file in the place of a file.
pub(super) const IN_ITS_PLACE: &str =
    "a pipe, a socket or a device is in its place; move it away, and `--exact` restores the file";

pub(super) fn opaque(state: &FileVersion) -> Option<Opaque> {
    match state.as_ref()?.image {
        Image::Opaque(why) => Some(why),
        _ => None,
    }
}

/// The detail of a gap, and the next step where there is one.
pub(super) fn not_captured(why: Opaque) -> &'static str {
    match why {
        Opaque::TooLarge | Opaque::Unreadable => "its content was not captured; it stays as it is",
        Opaque::Special => IN_ITS_PLACE,
    }
}

pub(crate) fn gap_of(why: Opaque) -> GapKind {
    match why {
        Opaque::TooLarge => GapKind::TooLarge,
        Opaque::Unreadable => GapKind::Unreadable,
        Opaque::Special => GapKind::Special,
    }
}
