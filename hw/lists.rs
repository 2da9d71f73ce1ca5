// The lists of a board's sources, as the crate and its build script read them.

use std::collections::BTreeSet;

/// The list of the blocks that `core` consists of, in the order of compilation.
pub const BLOCKS: &str = "hw/core/blocks";
/// The named configurations.
pub const CONFIGS: &str = "hw/core/configs.toml";
/// The block around `core` in simulation.
pub const AROUND: &str = "dpi";
/// The folder in which sources look for the files that they include.
pub const INCLUDES: &str = "hw/common/rtl";

/// The folder with the kernels of Alcor's own configurations.
pub const KERNELS: &str = "hw/kernels";

/// Names of the sources of `core` and of the blocks `around` it, in the order of compilation. `read` gives the text of a
/// list: of [`BLOCKS`], and of `hw/<block>/files.f` for each block.
///
/// # Errors
/// The first one of `read`.
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
