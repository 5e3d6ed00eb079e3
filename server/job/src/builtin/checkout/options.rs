//! Inputs of `actions/checkout`.

use super::super::CheckoutMode;
use super::super::inputs::Inputs;

/// Inputs of one checkout.
#[derive(Debug)]
pub(super) struct CheckoutOptions<'a> {
    /// Commits of history; 0 for all.
    pub depth: u32,
    pub has_tags: bool,
    pub clean: bool,
    pub lfs: bool,
    pub submodules: Submodules,
    pub sparse: Sparse<'a>,
    pub mode: CheckoutMode,
}

/// Inputs `sparse-checkout` and `sparse-checkout-cone-mode`.
#[derive(Debug, Default)]
pub(super) struct Sparse<'a> {
    pub patterns: Vec<&'a str>,
    pub is_cone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Submodules {
    None,
    Direct,
    Recursive,
}

pub(super) fn options(
    inputs: Inputs<'_>,
    mode: CheckoutMode,
) -> Result<CheckoutOptions<'_>, String> {
    let depth = inputs.text_or("fetch-depth", "1");
    let depth = depth.parse().map_err(|_| {
        format!("the input fetch-depth of actions/checkout is '{depth}': it needs a number, 0 for the whole history")
    })?;
    let submodules = match inputs.text("submodules").to_ascii_lowercase().as_str() {
        "true" => Submodules::Direct,
        "recursive" => Submodules::Recursive,
        _ => Submodules::None,
    };
    Ok(CheckoutOptions {
        depth,
        // the whole history has its tags
        has_tags: depth == 0 || inputs.is_true("fetch-tags", false),
        clean: inputs.is_true("clean", true),
        lfs: inputs.is_true("lfs", false),
        submodules,
        sparse: Sparse {
            patterns: inputs.lines("sparse-checkout"),
            is_cone: inputs.is_true("sparse-checkout-cone-mode", true),
        },
        mode,
    })
}

pub(super) fn cannot_write(error: &std::io::Error) -> String {
    format!(
        "the checkout failed: {error}: make room for it and its directory writable, then run the job again"
    )
}
