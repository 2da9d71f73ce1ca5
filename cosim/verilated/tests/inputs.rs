//! Inputs of a build in other projects: file lists, arguments, tools, typed ports, trace formats.

use std::fs;
use std::path::Path;

use crate::support::{build, cache, lists, model, toolchain};
use verimodel::{Build, Error, Model, ModelCache, Toolchain, TraceFormat};

fn listed() -> Build<'static> {
    Build::new("listed")
        .top("listed")
        .cache_dir(cache())
        .file_list(lists("all.f"))
}

verimodel::ports! {
    /// Ports of `listed.sv`.
    struct Listed {
        input clk_i: bool,
        input en_i: bool,
        input base_i: u64,
        output count_o: u8,
        output sum_o: u64,
        output wide_o: [u32; 4],
    }
}

#[test]
fn a_file_list_is_a_build() {
    let model = model(listed());
    let ports = Listed::find(&model).unwrap();
    let mut listed = model.instantiate("listed", ()).unwrap();
    listed.drive(&ports.en_i, true).unwrap();
    listed.drive(&ports.base_i, 0xabc_0000_0000).unwrap();
    listed.run(&ports.clk_i, 90).unwrap();
    // 3 per cycle, in 8 bits.
    assert_eq!(listed.sample(&ports.count_o).unwrap(), (270 % 256) as u8);
    assert_eq!(listed.sample(&ports.sum_o).unwrap(), 0xabc_0000_000e);
    assert_eq!(listed.sample(&ports.wide_o).unwrap(), [0xe, 0x10abc, 0, 0]);
    let error = listed.drive(&ports.base_i, 1 << 48).unwrap_err();
    assert!(
        error.to_string().contains("`base_i` has 48 bits"),
        "{error}"
    );
}

#[test]
fn an_argument_of_a_list_counts() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("strict.f");
    let strict = fs::read_to_string(lists("all.f")).unwrap();
    fs::write(&list, strict.replace("-Wno-WIDTHTRUNC\n", "")).unwrap();
    let strict = || {
        Build::new("listed")
            .top("listed")
            .cache_dir(cache())
            .file_list_from(&list, lists(""))
    };
    let text = strict().build(toolchain()).unwrap_err().to_string();
    assert!(text.contains("WIDTHTRUNC"), "{text}");
    for argument in ["-Wno-WIDTHTRUNC", "-Wno-fatal"] {
        model(strict().verilator_arg(argument));
    }
}

verimodel::ports! {
    struct Narrow {
        output sum_o: u32,
    }
}

verimodel::ports! {
    struct Misnamed {
        output summ_o: u64,
    }
}

#[test]
fn ports_of_a_wrong_type_or_name_are_refused() {
    let model = model(listed());
    let says = |error: Error| error.to_string();
    assert_eq!(
        says(Narrow::find(&model).unwrap_err()),
        "port `sum_o` of model `listed` has 48 bits, which u32 does not hold"
    );
    let text = says(Misnamed::find(&model).unwrap_err());
    assert!(
        text.contains("no output `summ_o`") && text.contains("sum_o"),
        "{text}"
    );
    assert!(verimodel::Input::<bool>::find(&model, "base_i").is_err());
    assert!(verimodel::Output::<[u32; 3]>::find(&model, "wide_o").is_err());
}

#[test]
fn arguments_that_the_build_decides_are_refused() {
    for argument in [
        "--Mdir",
        "--trace",
        "-GW=3",
        "-DX",
        "--threads=2",
        "file.sv",
    ] {
        let error = build("counter").verilator_arg(argument).build(toolchain());
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains(&format!("an argument of Verilator is `{argument}`")),
            "{text}"
        );
    }
    let names = ["-Wno-WIDTH", "-Wno-LATCH"].map(|argument| {
        let build = build("counter").verilator_arg(argument);
        build.entry_name(toolchain()).unwrap()
    });
    assert_ne!(names[0], names[1]);
    for build in [
        build("counter").compiler_arg("-fno-such-argument"),
        build("counter").link_arg("-lno-such-library"),
    ] {
        let text = build.build(toolchain()).unwrap_err().to_string();
        assert!(text.contains("no-such"), "{text}");
    }
}

fn counted(model: &Model, path: &Path) -> String {
    let mut counter = model.instantiate("counter", ()).unwrap();
    let clk = counter.input("clk_i").unwrap();
    for port in ["rst_ni", "en_i"] {
        let signal = counter.input(port).unwrap();
        counter.set(&signal, 1).unwrap();
    }
    // A second file, after the first file was closed.
    for cycles in [3, 10] {
        counter.trace_start(path).unwrap();
        counter.run(&clk, cycles).unwrap();
        counter.trace_stop().unwrap();
    }
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_trace_can_be_vcd() {
    let folder = tempfile::tempdir().unwrap();
    let vcd = model(build("counter").trace_format(TraceFormat::Vcd));
    let text = counted(&vcd, &folder.path().join("run.vcd"));
    let code = text
        .lines()
        .find(|line| line.contains(" count_o "))
        .and_then(|line| line.split_whitespace().nth(3))
        .unwrap();
    let values: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('b') && line.ends_with(&format!(" {code}")))
        .collect();
    assert_eq!(values.len(), 10, "{text}");
    assert!(values[9].starts_with("b00001101 "), "{values:?}");
}

#[test]
fn a_builder_names_tools_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let toolchain = Toolchain::builder()
        .verilator(toolchain().verilator())
        .compiler("g++")
        .models(cache())
        .workspace(folder.path())
        .find()
        .unwrap();
    assert_eq!(toolchain.workspace(), folder.path());
    let source = folder.path().join("wire.sv");
    fs::write(
        &source,
        "module wired (input a_i, output b_o); assign b_o = a_i; endmodule\n",
    )
    .unwrap();
    let build = Build::new("wired").top("wired").source(source);
    let model = build.build(&toolchain).unwrap();
    assert!(model.path().starts_with(cache()));
    let missing = Toolchain::builder().compiler("no-such-compiler").find();
    let text = missing.unwrap_err().to_string();
    assert!(text.contains("`no-such-compiler`"), "{text}");
}

/// DPI calls, panics and a trace of a model compiled by clang. The model is in the user's cache
/// folder, because clang also compiles the runtime.
#[test]
fn clang_compiles_models() {
    let Ok(clang) = Toolchain::builder().compiler("clang++").find() else {
        return alcor_skips::skip("there is no program `clang++` (Debian: clang)");
    };
    assert!(clang.compiler_version().contains("clang"));
    let user = ModelCache::find().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.fst");
    crate::dpi::check_a_panic(|build| {
        let build = build.trace(true).cache_dir(user.folder());
        let model = build
            .build(&clang)
            .unwrap_or_else(|error| panic!("{error}"));
        let mut traced = model.instantiate("traced", ()).unwrap();
        let clk = traced.input("clk_i").unwrap();
        traced.trace_start(&path).unwrap();
        traced.run(&clk, 100).unwrap();
        traced.trace_stop().unwrap();
        model
    });
    assert!(fs::metadata(&path).unwrap().len() > 300);
}
