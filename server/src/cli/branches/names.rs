//! Names in the lists of branches and tags.

use crate::render;

/// Maximum columns of a name in a list.
const NAME_WIDTH: usize = 32;

/// Returns a name as a list shows it.
pub fn named(name: &str) -> String {
    render::cut(&render::clean(name), NAME_WIDTH)
}

/// Returns the columns of the widest name.
pub fn name_width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names
        .map(|name| render::columns(&named(name)))
        .max()
        .unwrap_or(0)
}
