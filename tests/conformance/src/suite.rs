//! The tests, a module for what each is about.

use crate::Test;

/// Names the modules, and collects their tests.
macro_rules! suite {
    ($($module:ident)+) => {
        $(mod $module;)+
        const SUITE: &[&[Test]] = &[$($module::TESTS),+];
    };
}

suite! {
    board put get request window registration barrier order traffic progress credits paper
    watchdog abort alpu random collectives communicators skew messages reset trust hostile
}

/// All tests, in a fixed order.
pub fn tests() -> impl Iterator<Item = &'static Test> {
    SUITE.iter().copied().flatten()
}
