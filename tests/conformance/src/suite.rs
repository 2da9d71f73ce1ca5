//! The tests, a module for what each is about.

use alcor_test::{Test, registered};

/// Names the modules.
macro_rules! suite {
    ($($module:ident)+) => {
        $(mod $module;)+
        const MODULES: &[&str] = &[$(stringify!($module)),+];
    };
}

suite! {
    board put get atomics accumulate request window registration barrier order traffic progress credits paper
    watchdog abort alpu random collectives communicators skew messages reset failures trust hostile kernel
}

/// All tests: the modules in the order above, and the tests of a module in the order of their source.
pub fn tests() -> impl Iterator<Item = &'static Test> {
    let tests = registered();
    MODULES.iter().flat_map(move |&module| {
        let of_module = tests
            .iter()
            .copied()
            .filter(move |test| test.module() == module);
        of_module.collect::<Vec<_>>()
    })
}
