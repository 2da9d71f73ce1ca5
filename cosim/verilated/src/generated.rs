//! Parses the C++ that Verilator generates, and writes the table header for the shim.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::imports::{Function, Passed};
use crate::layout::{self, Place};
use crate::{Error, Import, TraceFormat};

/// Input of a model that carries the instance's handle.
pub(crate) const HANDLE_PORT: &str = "dpi_handle_i";

/// A port, as declared in `V<top>.h`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) ident: String,
    pub(crate) name: String,
    /// 0: input, 1: output, 2: inout.
    pub(crate) direction: u32,
    pub(crate) width: u32,
    pub(crate) bytes: u32,
}

/// Finds the ports in `V<top>.h`. Skips unpacked arrays and ports that are not integral.
pub(crate) fn ports(header: &str) -> Vec<Port> {
    header.lines().filter_map(port).collect()
}

fn port(line: &str) -> Option<Port> {
    let (kind, rest) = line.trim().strip_prefix("VL_")?.split_once('(')?;
    let arguments: Vec<&str> = rest.strip_suffix(");")?.split(',').collect();
    let (direction, storage) = ["INOUT", "IN", "OUT"].iter().find_map(|&direction| {
        kind.strip_prefix(direction)
            .map(|storage| (direction, storage))
    })?;
    let ident = arguments.first()?.strip_prefix('&')?;
    if !ident
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return None;
    }
    let msb: i64 = arguments.get(1)?.parse().ok()?;
    let lsb: i64 = arguments.get(2)?.parse().ok()?;
    let bytes = match storage {
        "8" => 1,
        "16" => 2,
        "" => 4,
        "64" => 8,
        "W" => 4 * arguments.get(3)?.parse::<u32>().ok()?,
        _ => return None,
    };
    Some(Port {
        ident: ident.to_string(),
        name: decoded(ident),
        direction: match direction {
            "IN" => 0,
            "OUT" => 1,
            _ => 2,
        },
        width: u32::try_from(msb.abs_diff(lsb) + 1).ok()?,
        bytes,
    })
}

/// Decodes a SystemVerilog name: Verilator encodes special characters as `__0hh`.
fn decoded(ident: &str) -> String {
    let mut name = String::new();
    let mut rest = ident;
    while let Some(at) = rest.find("__0") {
        let code = rest
            .get(at + 3..at + 5)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let end = match code {
            Some(code) => {
                name.push_str(&rest[..at]);
                name.push(char::from(code));
                at + 5
            }
            None => {
                name.push_str(&rest[..at + 3]);
                at + 3
            }
        };
        rest = &rest[end..];
    }
    name + rest
}

/// Names and C declarations of the imports in `V<top>__Dpi.h`. The file declares the exports first.
pub(crate) fn dpi_declarations(header: &str) -> Vec<(String, String)> {
    let imports = header.split_once("// DPI IMPORTS");
    imports
        .map_or("", |(_, imports)| imports)
        .lines()
        .filter_map(|line| {
            let declaration = line.trim().strip_prefix("extern ")?.strip_suffix(';')?;
            let name = declaration
                .split('(')
                .next()?
                .split_whitespace()
                .next_back()?;
            Some((
                name.trim_start_matches('*').to_string(),
                declaration.to_string(),
            ))
        })
        .collect()
}

/// Returns whether a C declaration is a canonical DPI import.
pub(crate) fn is_canonical(declaration: &str) -> bool {
    let Some((head, rest)) = declaration.split_once('(') else {
        return false;
    };
    let arguments: Vec<Vec<&str>> = rest
        .trim_end_matches(')')
        .split(',')
        .map(|argument| argument.split_whitespace().collect())
        .collect();
    head.starts_with("void ")
        && arguments.len() == 3
        && arguments[0].starts_with(&["unsigned", "long", "long"])
        && arguments[1].starts_with(&["const", "svBitVecVal*"])
        && arguments[2].starts_with(&["svBitVecVal*"])
}

/// The arguments that each importing wrapper of a generated `.cpp` passes to `function`.
pub(crate) fn dpi_calls(code: &str, function: &str) -> Vec<Vec<Passed>> {
    let call = format!("{function}(");
    let mut found = Vec::new();
    let mut arrays: Vec<(&str, usize)> = Vec::new();
    let mut values: Vec<&str> = Vec::new();
    for line in code.lines() {
        if line == "}" {
            arrays.clear();
            values.clear();
            continue;
        }
        let Some(statement) = line.strip_prefix("    ") else {
            continue;
        };
        let assigned = statement.split_once(" = ");
        let called = assigned.map_or(statement, |(_, value)| value);
        if let Some(arguments) = called
            .strip_prefix(&call)
            .and_then(|rest| rest.strip_suffix(");"))
        {
            let names = arguments.split(", ").filter(|name| !name.is_empty());
            let names = names.map(|name| name.trim_start_matches('&'));
            let passed = names.map(|name| Passed {
                elements: arrays
                    .iter()
                    .find(|(array, _)| *array == name)
                    .map_or(0, |(_, size)| *size),
                has_value: values.contains(&name),
            });
            found.push(passed.collect());
        } else if let Some((name, _)) = assigned {
            values.push(name);
        } else if let Some(arguments) = statement.strip_prefix("VL_SET_SV") {
            // The second argument is the vector that is set.
            values.extend(arguments.split(", ").nth(1));
        } else if let Some((name, size)) = statement
            .strip_suffix("];")
            .and_then(|declared| declared.rsplit_once(' '))
            .and_then(|(_, array)| array.split_once('['))
            && let Ok(size) = size.parse()
        {
            arrays.push((name, size));
        }
    }
    found
}

/// The DPI functions that the shim has to define.
#[derive(Debug, Default)]
pub(crate) struct DpiFunctions {
    /// Functions of the canonical form.
    pub(crate) canonical: Vec<DpiFunction>,
    /// C++ definitions of the functions with ordinary signatures.
    pub(crate) ordinary: String,
}

/// A DPI function that the shim has to define.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DpiFunction {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) words: (usize, usize),
}

/// Finds the DPI functions of the generated code in `folder`, and checks them against the build's
/// list. If the build has C++ sources, they may define functions that the build does not list.
pub(crate) fn dpi_functions(
    model: &str,
    folder: &Path,
    listed: &[String],
    imports: &[Import],
    has_cpp: bool,
) -> Result<DpiFunctions, Error> {
    let mut functions = DpiFunctions::default();
    let Ok(header) = fs::read_to_string(folder.join("Vmodel__Dpi.h")) else {
        return Ok(functions);
    };
    let declarations = dpi_declarations(&header);
    if declarations.is_empty() {
        return Ok(functions);
    }
    let mut code = Vec::new();
    for path in cpp_files(folder)? {
        code.push(fs::read_to_string(&path).map_err(Error::io("read", &path))?);
    }

    for (name, declaration) in declarations {
        let canonical = listed.iter().position(|listed| *listed == name);
        let ordinary = imports.iter().position(|import| import.name == name);
        let Some(index) = canonical.or(ordinary) else {
            if has_cpp {
                continue;
            }
            let listed = listed.iter().map(String::as_str);
            let listed: Vec<&str> = listed
                .chain(imports.iter().map(|import| import.name))
                .collect();
            return Err(Error::DpiUnlisted {
                model: model.into(),
                function: name,
                listed: listed.join(", "),
            });
        };
        if canonical.is_some() && !is_canonical(&declaration) {
            return Err(Error::DpiForm {
                model: model.into(),
                function: name,
                found: declaration,
            });
        }
        let calls: Vec<Vec<Passed>> = code
            .iter()
            .flat_map(|code| dpi_calls(code, &name))
            .collect();
        let Some(first) = calls.first() else {
            return Err(Error::Generated {
                model: model.into(),
                file: "Vmodel*.cpp".into(),
                what: format!("call of DPI function `{name}`"),
            });
        };
        let words = |passed: &[Passed]| -> Vec<usize> {
            passed.iter().map(|passed| passed.elements).collect()
        };
        if let Some(second) = calls.iter().find(|call| words(call) != words(first)) {
            return Err(Error::DpiWidths {
                model: model.into(),
                function: name,
                first: words(first),
                second: words(second),
            });
        }
        if canonical.is_some() {
            let &[_, input, output] = &first[..] else {
                return Err(Error::DpiForm {
                    model: model.into(),
                    function: name,
                    found: declaration,
                });
            };
            functions.canonical.push(DpiFunction {
                index,
                name,
                words: (input.elements, output.elements),
            });
            continue;
        }
        let function =
            Function::read(&declaration, first).map_err(|unsupported| Error::DpiType {
                model: model.into(),
                function: name,
                found: declaration,
                unsupported,
            })?;
        function.check(model, &imports[index])?;
        functions.ordinary += &function.definition(index);
    }
    Ok(functions)
}

/// C++ files of a folder, in order of name.
pub(crate) fn cpp_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(Error::io("read", folder))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    files.sort();
    Ok(files)
}

/// Runtime files that a model needs, from `V<top>_classes.mk`.
pub(crate) fn runtime_files(makefile: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut inside = false;
    for line in makefile.lines() {
        if line.starts_with("VM_GLOBAL_") {
            inside = line.contains("+=");
        } else if inside {
            let name = line.trim().trim_end_matches('\\').trim();
            if name.is_empty() {
                inside = false;
            } else {
                files.push(name.to_string());
            }
        }
    }
    files
}

/// The header that the shim includes.
pub(crate) fn tables(
    version: u32,
    ports: &[Port],
    dpi: &DpiFunctions,
    trace: Option<TraceFormat>,
    coverage: bool,
    state: &[Place],
) -> String {
    let mut text = String::from("// Generated: ports and DPI imports of this model.\n");
    let _ = writeln!(text, "#define ALCOR_SHIM_VERSION {version}");
    let _ = writeln!(text, "#define ALCOR_TRACE {}", u32::from(trace.is_some()));
    let is_vcd = trace == Some(TraceFormat::Vcd);
    let _ = writeln!(text, "#define ALCOR_VCD {}", u32::from(is_vcd));
    let _ = writeln!(text, "#define ALCOR_COVERAGE {}", u32::from(coverage));
    if ports.iter().any(|port| port.name == HANDLE_PORT) {
        let _ = writeln!(
            text,
            "#define ALCOR_SET_HANDLE(model, handle) (model)->{HANDLE_PORT} = (handle)"
        );
    } else {
        text.push_str("#define ALCOR_SET_HANDLE(model, handle) (void)(handle)\n");
    }
    text.push_str("#define ALCOR_SIGNALS(X)");
    for port in ports.iter().filter(|port| port.name != HANDLE_PORT) {
        let name = port.name.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = write!(
            text,
            " \\\n    X({}, \"{name}\", {}, {}, {})",
            port.ident, port.direction, port.width, port.bytes
        );
    }
    text.push_str("\n#define ALCOR_DPI(X)");
    for function in &dpi.canonical {
        let (input, output) = function.words;
        let _ = write!(
            text,
            " \\\n    X({}, {}, {input}, {output})",
            function.index, function.name
        );
    }
    let _ = write!(
        text,
        "\n#define ALCOR_HAS_STATE {}",
        u32::from(!state.is_empty())
    );
    let _ = write!(text, "\n{}", layout::table(state));
    if !dpi.canonical.is_empty() || !dpi.ordinary.is_empty() {
        text.push_str("\n#include \"Vmodel__Dpi.h\"");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read() {
        let header = "    VL_IN8(&clk_i,0,0);\n    VL_OUTW(&wide_o,99,0,4);\n    VL_IN64(&a___05Fb,40,1);\n    \
                      VL_IN8((&arr)[4],7,0);\n    int x;\n    VL_INOUT16(&esc__024x,15,0);\n";
        let ports = ports(header);
        let short: Vec<_> = ports
            .iter()
            .map(|port| (port.name.as_str(), port.direction, port.width, port.bytes))
            .collect();
        assert_eq!(
            short,
            [
                ("clk_i", 0, 1, 1),
                ("wide_o", 1, 100, 16),
                ("a__b", 0, 40, 8),
                ("esc$x", 2, 16, 2)
            ]
        );
    }

    #[test]
    fn canonical_form_is_recognised() {
        assert!(is_canonical(
            "void f(unsigned long long h, const svBitVecVal* i, svBitVecVal* o)"
        ));
        assert!(!is_canonical(
            "void f(unsigned long long h, svBitVecVal* o)"
        ));
        assert!(!is_canonical(
            "int f(unsigned long long h, const svBitVecVal* i, svBitVecVal* o)"
        ));
        assert!(!is_canonical(
            "void f(unsigned long long h, const svLogicVecVal* i, svBitVecVal* o)"
        ));
    }

    #[test]
    fn widths_are_read_per_wrapper() {
        let code = "void w1() {\n    svBitVecVal i__Vcvt[2];\n    svBitVecVal o__Vcvt[3];\n    f(h__Vcvt, i__Vcvt, o__Vcvt);\n}\n\
                    void w2() {\n    svBitVecVal i__Vcvt[5];\n    svBitVecVal o__Vcvt[6];\n    g(h__Vcvt, i__Vcvt, o__Vcvt);\n}\n";
        let words = |function| -> Vec<Vec<usize>> {
            let calls = dpi_calls(code, function);
            let words = |call: Vec<Passed>| call.iter().map(|passed| passed.elements).collect();
            calls.into_iter().map(words).collect()
        };
        assert_eq!(words("f"), [[0, 2, 3]]);
        assert_eq!(words("g"), [[0, 5, 6]]);
    }

    #[test]
    fn values_before_a_call_are_seen() {
        let code = "void w() {\n    // Body\n    o = 0U;\n    int o__Vcvt;\n    int io__Vcvt;\n    io__Vcvt = io;\n    \
                    svBitVecVal v__Vcvt[4];\n    VL_SET_SVBV_W(100, v__Vcvt, v);\n    svBitVecVal ov__Vcvt[4];\n    \
                    int r__Vcvt;\n    r__Vcvt = f(&o__Vcvt, &io__Vcvt, v__Vcvt, ov__Vcvt);\n    \
                    VL_SET_W_SVBV(100, ov, ov__Vcvt + 0);\n}\n";
        let calls = dpi_calls(code, "f");
        let seen: Vec<_> = calls[0]
            .iter()
            .map(|passed| (passed.elements, passed.has_value))
            .collect();
        assert_eq!(seen, [(0, false), (0, true), (4, true), (4, false)]);
        assert_eq!(calls.len(), 1);
    }

    #[test]
    fn runtime_files_are_read() {
        let makefile = "VM_CLASSES_FAST += \\\n  V \\\n\nVM_GLOBAL_FAST += \\\n  verilated \\\n  verilated_dpi \\\n\n\
                        VM_GLOBAL_SLOW += \\\n\n# end\n";
        assert_eq!(runtime_files(makefile), ["verilated", "verilated_dpi"]);
    }
}
