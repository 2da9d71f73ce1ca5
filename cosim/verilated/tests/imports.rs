//! DPI imports with ordinary signatures, and DPI imports that C++ sources define.

use crate::support::{build, cpp, model, toolchain};
use verimodel::{Error, FailureKind, Imports};

#[derive(Default)]
struct Host {
    seen: Vec<(i32, i8)>,
    plain: u32,
    panics: bool,
}

verimodel::imports! {
    impl Host {
        fn add(&mut self, a: i32, b: i8) -> i32 {
            self.seen.push((a, b));
            a + i32::from(b)
        }

        fn scalars(&mut self, ub: u8, s: i16, us: u16, l: i64, x: bool, y: bool, io: i32) -> (i8, i16, bool, i32) {
            assert_eq!((ub, s, us, l, x, y), (255, -2, 0xfffe, -1, true, false));
            (-4, -300, true, io * 2)
        }

        fn vectors(&mut self, v: [u32; 4], lv: [u32; 3], iov: [u32; 2]) -> (u64, [u32; 4], [u32; 2], [u32; 2]) {
            assert_eq!((v, lv), ([1, 0, 0, 0xa], [2, 0, 0x3f]));
            assert_eq!(iov, [1, 0xff]);
            (u64::MAX - 1, [9, 8, 7, 6], [5, 3], [2, 1])
        }

        fn scaled(&mut self, r: f64) -> (f64, f64) {
            (r * 2.0, r / 2.0)
        }

        fn text_length(&mut self, text: String, more: i32, other: String) -> u32 {
            assert!(text == "hello" || other == "four", "{text} {other}");
            (text.len() + other.len()) as u32 + more as u32
        }

        fn make(&mut self, n: u64) -> usize {
            n as usize
        }

        fn word(&mut self, handle: usize) -> u32 {
            handle as u32
        }

        fn plain(&mut self) {
            assert!(!self.panics, "no more");
            self.plain += 1;
        }
    }
}

#[test]
fn values_of_every_type_cross_both_ways() {
    let calls = model(build("calls").imports::<Host>());
    assert_eq!(calls.dpi_functions().len(), Host::IMPORTS.len());
    let mut first = calls.instantiate("first", Host::default()).unwrap();
    let mut second = calls.instantiate("second", Host::default()).unwrap();
    let clk = calls.input("clk_i").unwrap();
    let count = calls.input("count_i").unwrap();
    first.set(&count, 200).unwrap();
    first.run(&clk, 3).unwrap();
    second.run(&clk, 1).unwrap();
    assert_eq!(first.dpi().seen, [(200, -3); 3]);
    assert_eq!((first.dpi().plain, second.dpi().plain), (3, 1));
    let get = |name: &str| first.get(&calls.output(name).unwrap()).unwrap();
    assert_eq!(get("sum_o"), 197);
    assert_eq!(get("long_o"), u64::MAX - 1);
    assert_eq!(get("inout_o"), 40);
    let mut wide = [0; 4];
    first
        .get_words(&calls.output("wide_o").unwrap(), &mut wide)
        .unwrap();
    assert_eq!(wide, [9, 8, 7, 6]);
}

#[test]
fn a_panic_in_an_import_ends_the_instance() {
    let calls = model(build("calls").imports::<Host>());
    let host = Host {
        panics: true,
        ..Host::default()
    };
    let mut calls = calls.instantiate("calls", host).unwrap();
    let clk = calls.input("clk_i").unwrap();
    let Err(Error::Model(failure)) = calls.run(&clk, 1) else {
        panic!("no failure")
    };
    assert_eq!(failure.kind, FailureKind::DpiPanic);
    assert!(failure.message.contains("`plain`: no more"), "{failure}");
}

struct Wrong;

verimodel::imports! {
    impl Wrong {
        fn cpp_twice(&mut self, _value: u32) -> i32 {
            0
        }
        fn host_add(&mut self, a: i32, b: i32) -> i32 {
            a + b
        }
    }
}

#[test]
fn a_wrong_signature_is_refused_with_both() {
    let refused = build("mixed").imports::<Wrong>().build(toolchain());
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("`cpp_twice` has the signature (int) -> (int) in the model and (int unsigned) -> (int) in the host"),
        "{text}"
    );
}

#[derive(Default)]
struct Adder;

verimodel::imports! {
    impl Adder {
        fn host_add(&mut self, a: i32, b: i32) -> i32 {
            a + b
        }
    }
}

#[test]
fn cpp_sources_define_imports_and_call_exports() {
    let recipe = || {
        build("mixed")
            .imports::<Adder>()
            .cpp_source(cpp("mixed.cpp"))
            .cpp_include_dir(cpp("include"))
    };
    let mut mixed = model(recipe()).instantiate("mixed", Adder).unwrap();
    let clk = mixed.input("clk_i").unwrap();
    let [a, sum] = [mixed.input("a_i"), mixed.output("sum_o")].map(Result::unwrap);
    mixed.set(&a, 20).unwrap();
    mixed.tick(&clk).unwrap();
    // cpp_twice calls the exported function, which adds 1: 2 * (20 + 1) + 100, and host_add adds 7.
    assert_eq!(mixed.get(&sum).unwrap(), 149);

    // Without the folder of its header, the source does not compile. Without the source, the import
    // is undefined.
    let error = build("mixed")
        .imports::<Adder>()
        .cpp_source(cpp("mixed.cpp"))
        .build(toolchain());
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("compilation of model `mixed`") && text.contains("twice.h"),
        "{text}"
    );
    let error = build("mixed").imports::<Adder>().build(toolchain());
    let text = error.unwrap_err().to_string();
    assert!(
        text.contains("`cpp_twice`") && text.contains("host_add"),
        "{text}"
    );
}

#[test]
fn an_edit_of_a_cpp_source_or_header_is_another_model() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("include")).unwrap();
    for file in ["mixed.cpp", "include/twice.h"] {
        std::fs::copy(cpp(file), folder.path().join(file)).unwrap();
    }
    let name = || {
        build("mixed")
            .imports::<Adder>()
            .cpp_source(folder.path().join("mixed.cpp"))
            .cpp_include_dir(folder.path().join("include"))
            .entry_name(toolchain())
            .unwrap()
    };
    let mut names = vec![name()];
    for file in ["mixed.cpp", "include/twice.h"] {
        let path = folder.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text + "// more\n").unwrap();
        names.push(name());
    }
    names.dedup();
    assert_eq!(names.len(), 3);
}

#[test]
fn types_that_no_host_has_are_named() {
    let refused = build("unsupported").imports::<Adder>().build(toolchain());
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("`host_add` is `void host_add(const int* values)`")
            && text.contains("`const int*`"),
        "{text}"
    );
}
