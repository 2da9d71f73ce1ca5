//! Finds a model's state in the generated C++, for
//! [`Instance::is_steady`](crate::Instance::is_steady).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Error;

/// A part of the state, as an expression relative to the model's symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) member: String,
    /// Width of a counter in bits.
    pub(crate) width: u32,
}

/// Role of a part of the state. The discriminants are those of `shim/shim.cpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All members of a module instance.
    Module = 0,
    /// A member that is not compared.
    LeftOut = 1,
    /// A register that counts cycles.
    Counter = 2,
}

/// Parts of the state of the model in `folder`. Arrays named in `rams` are excluded. Variables
/// named in `counters` are counters. Shadow copies of both (`__Vdly__`) are excluded.
pub(crate) fn places(
    model: &str,
    folder: &Path,
    counters: &[(String, String)],
    rams: &[String],
) -> Result<Vec<Place>, Error> {
    let read = |file: &str| {
        let path = folder.join(file);
        fs::read_to_string(&path).map_err(Error::io("read", &path))
    };
    let mut public = Vec::new();
    for path in crate::generated::cpp_files(folder)? {
        let is_symbols = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("Vmodel__Syms"));
        if is_symbols {
            let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            public.extend(text.lines().filter_map(public_variable));
        }
    }
    let modules = modules(&read("Vmodel__Syms.h")?);
    if modules.is_empty() {
        return Err(Error::Generated {
            model: model.into(),
            file: "Vmodel__Syms.h".into(),
            what: "list of module instances".into(),
        });
    }
    let mut places = Vec::new();
    for (class, instance) in modules {
        places.push(Place {
            kind: Kind::Module,
            member: instance.clone(),
            width: 0,
        });
        let header = read(&format!("{class}.h"))?;
        let member_of = |member: &str| format!("{instance}.{member}");
        for member in header.lines().filter_map(member) {
            let is_counter = |name: &str| {
                let place = member_of(name);
                public.iter().find(|found| {
                    found.place == place && counters.iter().any(|(_, leaf)| *leaf == found.name)
                })
            };
            let (kind, width) = if let Some(found) = is_counter(member.name) {
                (Kind::Counter, found.width)
            } else if member
                .name
                .strip_prefix("__Vdly__")
                .is_some_and(|name| is_counter(name).is_some())
                || member.is_array && rams.iter().any(|ram| is_leaf(member.name, ram))
            {
                (Kind::LeftOut, 0)
            } else {
                continue;
            };
            places.push(Place {
                kind,
                member: member_of(member.name),
                width,
            });
        }
    }
    Ok(places)
}

/// Lines of the table header for these parts.
pub(crate) fn table(places: &[Place]) -> String {
    let mut text = String::from("#define ALCOR_STATE(X)");
    for place in places {
        let _ = write!(
            text,
            " \\\n    X({}, {}, {})",
            place.kind as u32, place.member, place.width
        );
    }
    text.push('\n');
    text
}

/// Returns whether `leaf` is the last part of a hierarchical name in Verilator's encoding.
fn is_leaf(name: &str, leaf: &str) -> bool {
    name.strip_suffix(leaf).is_some_and(|rest| {
        rest.is_empty() || rest.ends_with("__DOT__") || rest.ends_with("__PVT__")
    })
}

/// Classes and names of the module instances in `Vmodel__Syms.h`.
fn modules(header: &str) -> Vec<(String, String)> {
    header
        .lines()
        .skip_while(|line| !line.contains("MODULE INSTANCE STATE"))
        .skip(1)
        .take_while(|line| !line.trim_start().starts_with("//") && !line.contains("};"))
        .filter_map(|line| {
            let (class, name) = line.trim().strip_suffix(';')?.split_once(' ')?;
            Some((class.to_string(), name.trim().to_string()))
        })
        .collect()
}

/// A member of a module's class.
struct Member<'a> {
    name: &'a str,
    is_array: bool,
}

fn member(line: &str) -> Option<Member<'_>> {
    let line = line.trim().strip_suffix(';')?;
    let is_array = line.starts_with("VlUnpacked<");
    let is_scalar = ["CData/", "SData/", "IData/", "QData/", "VlWide<"]
        .iter()
        .any(|kind| line.starts_with(kind));
    let (_, name) = line.rsplit_once(' ')?;
    (is_array || is_scalar).then_some(Member { name, is_array })
}

/// A public variable, as registered by the constructor of the symbol table.
#[derive(Debug, PartialEq, Eq)]
struct Public {
    name: String,
    place: String,
    width: u32,
}

fn public_variable(line: &str) -> Option<Public> {
    let (_, call) = line.split_once("varInsert(\"")?;
    let (name, rest) = call.split_once('"')?;
    let (place, rest) = rest.split_once("&(")?.1.split_once(')')?;
    // The bounds of the packed range are last.
    let arguments = rest.trim_end().strip_suffix(");")?;
    let mut bounds = arguments
        .rsplit(',')
        .map(|bound| bound.trim().parse::<i64>());
    let (low, high) = (bounds.next()?.ok()?, bounds.next()?.ok()?);
    Some(Public {
        name: name.into(),
        place: place.into(),
        width: u32::try_from(high.abs_diff(low) + 1).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_instances_are_read() {
        let header = "class Vmodel__Syms final {\n    bool __Vm_didInit = false;\n\n    // MODULE INSTANCE STATE\n    \
                      Vmodel___024root               TOP;\n    Vmodel_fifo                    TOP__top__DOT__u_fifo;\n\n    \
                      // SCOPE NAMES\n    VerilatedScope* __Vscopep_top;\n};\n";
        assert_eq!(
            modules(header),
            [
                ("Vmodel___024root".into(), "TOP".into()),
                ("Vmodel_fifo".into(), "TOP__top__DOT__u_fifo".into())
            ]
        );
    }

    #[test]
    fn public_variables_are_read() {
        let line = "    __Vscopep_top__u->varInsert(\"time_q\", &(TOP.top__DOT__u__DOT__time_q), false, VLVT_UINT8, \
                    VLVD_NODIR|VLVF_PUB_RW, 0, 1 ,3,0);";
        assert_eq!(
            public_variable(line),
            Some(Public {
                name: "time_q".into(),
                place: "TOP.top__DOT__u__DOT__time_q".into(),
                width: 4
            })
        );
    }

    #[test]
    fn members_and_leaves_are_told_apart() {
        let found = member("            VlUnpacked<QData/*32:0*/, 4> top__DOT__u_ram__DOT__mem_q;")
            .unwrap();
        assert!(found.is_array && is_leaf(found.name, "mem_q") && !is_leaf(found.name, "q"));
        assert!(!member("    CData/*0:0*/ a;").unwrap().is_array);
        assert!(member("    Vmodel__Syms* vlSymsp;").is_none());
        assert!(is_leaf("__PVT__mem", "mem") && !is_leaf("top__DOT__u__DOT__items_mem", "mem"));
    }
}
