//! Gives the shared library the name that programs ask for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Its number changes when programs that were linked with an older one no longer run.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libalcor.so.0");
}
