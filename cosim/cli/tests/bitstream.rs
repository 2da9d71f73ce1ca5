//! `alcor bitstream` from outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn bitstream(command: &str, folders: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_alcor"))
        .args(["bitstream", command])
        .args(folders)
        .output()
        .expect("alcor runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a board build leaves.
fn fill(folder: &Path) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bitstreams/tests/corpus");
    for (name, from) in [
        ("u280.bit", "bit/good-u280.bit"),
        ("timing.rpt", "timing/good-met.rpt"),
        ("utilisation.rpt", "utilisation/good-routed.rpt"),
        ("build.toml", "build/good-u280.toml"),
    ] {
        fs::copy(corpus.join(from), folder.join(name)).expect("a file");
    }
}

#[test]
fn a_build_is_packed_verified_and_listed() {
    let root = tempfile::tempdir().expect("a folder");
    let build = root.path().join("first");
    fs::create_dir(&build).expect("a folder");
    fill(&build);
    let packed = bitstream("pack", &[&build]);
    assert_eq!(packed.status.code(), Some(0), "{}", text(&packed.stderr));
    let manifest = fs::read(build.join("manifest.toml")).expect("a manifest");
    assert_eq!(text(&packed.stdout), text(&manifest));

    let verified = bitstream("verify", &[&build, &build]);
    assert_eq!(
        verified.status.code(),
        Some(0),
        "{}",
        text(&verified.stderr)
    );
    assert_eq!(text(&verified.stdout).matches("is as packed").count(), 2);

    let listed = bitstream("list", &[root.path()]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    let table = text(&listed.stdout);
    for word in [
        "first",
        "u280",
        "0x425cd63a",
        "0.010 ns",
        "16.3 %",
        "1 builds",
    ] {
        assert!(table.contains(word), "{word} in {table}");
    }
}

#[test]
fn an_abi_that_is_not_this_programs_is_said() {
    let build = tempfile::tempdir().expect("a folder");
    fill(build.path());
    let path = build.path().join("build.toml");
    let own = format!("{:08x}", alcor_abi::ABI_HASH);
    for (hash, is_told) in [(own.as_str(), false), ("00000001", true)] {
        let toml = fs::read_to_string(&path).expect("text");
        let (front, back) = toml.split_once("abi_hash = \"").expect("a hash");
        let (_, back) = back.split_once('"').expect("its end");
        fs::write(&path, format!("{front}abi_hash = \"{hash}\"{back}")).expect("a file");
        let packed = bitstream("pack", &[build.path()]);
        assert_eq!(packed.status.code(), Some(0));
        assert_eq!(
            text(&packed.stderr).contains("this program"),
            is_told,
            "{hash}"
        );
    }
}

#[test]
fn what_is_not_there_is_a_wrong_command_and_what_is_wrong_has_failed() {
    let root = tempfile::tempdir().expect("a folder");
    let none = root.path().join("none");
    for (command, advice) in [
        ("pack", "none"),
        ("verify", "alcor bitstream pack"),
        ("list", "none"),
    ] {
        let output = bitstream(command, &[&none]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(
            text(&output.stderr).contains(advice),
            "{}",
            text(&output.stderr)
        );
    }
    assert_eq!(bitstream("verify", &[]).status.code(), Some(2));

    fill(root.path());
    let timing = root.path().join("timing.rpt");
    let met = fs::read_to_string(&timing).expect("text");
    fs::write(&timing, met.replace("  0.031 ", " -0.031 ")).expect("a file");
    let output = bitstream("pack", &[root.path()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("timing is not met") && said.contains("-0.031 ns"),
        "{said}"
    );

    fs::write(&timing, met).expect("a file");
    assert_eq!(bitstream("pack", &[root.path()]).status.code(), Some(0));
    let bit = root.path().join("u280.bit");
    let mut bytes = fs::read(&bit).expect("a file");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&bit, bytes).expect("a file");
    let output = bitstream("verify", &[root.path()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("CRC-32"),
        "{}",
        text(&output.stderr)
    );

    // A good one behind it is looked at all the same.
    let good = tempfile::tempdir().expect("a folder");
    fill(good.path());
    assert_eq!(bitstream("pack", &[good.path()]).status.code(), Some(0));
    let output = bitstream("verify", &[root.path(), good.path()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("is as packed"),
        "{}",
        text(&output.stdout)
    );

    fs::write(root.path().join("manifest.toml"), "schema = 2\n").expect("a file");
    for command in ["verify", "list"] {
        let output = bitstream(command, &[root.path()]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        let said = text(&output.stderr);
        assert!(said.contains("newer program"), "{said}");
    }
}
