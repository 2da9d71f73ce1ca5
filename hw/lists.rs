// Source lists of a board, used by the crate and by its build script.

use std::collections::BTreeSet;

/// File with the blocks of `core`, in order of compilation.
pub const BLOCKS: &str = "hw/core/blocks";
/// File with the named configurations.
pub const CONFIGS: &str = "hw/core/configs.toml";
/// The blocks around `core` in simulation: the link ends, and the block that contains `core`.
pub const AROUND: [&str; 2] = ["link", "dpi"];
/// Folder of the include files.
pub const INCLUDES: &str = "hw/common/rtl";

/// Folder with the kernels of Alcor's own configurations.
pub const KERNELS: &str = "hw/kernels";

/// Names of the sources of `core` and of the blocks `around` it, in order of compilation. `read`
/// returns the content of a list: of [`BLOCKS`], and of `hw/<block>/files.f` for each block.
///
/// # Errors
/// The first error of `read`.
pub fn sources<E>(
    around: &[&str],
    mut read: impl FnMut(&str) -> Result<String, E>,
) -> Result<Vec<String>, E> {
    let blocks = read(BLOCKS)?;
    let (mut sources, mut known) = (Vec::new(), BTreeSet::new());
    for block in blocks.split_whitespace().chain(around.iter().copied()) {
        for line in read(&format!("hw/{block}/files.f"))?.lines().map(str::trim) {
            let is_source = !line.is_empty() && !line.starts_with("//") && !line.starts_with('#');
            let source = format!("hw/{line}");
            if is_source && known.insert(source.clone()) {
                sources.push(source);
            }
        }
    }
    Ok(sources)
}
