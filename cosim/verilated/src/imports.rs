//! DPI imports with ordinary signatures: their types, and the C++ code that passes their arguments
//! to the host.

use std::fmt::{self, Write as _};

use crate::{Dpi, Error};

/// A type of an argument or result of a DPI import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpiType {
    /// `bit` or `logic`: `bool`.
    Bit,
    /// `byte`: `i8`.
    Byte,
    /// `byte unsigned`: `u8`.
    ByteUnsigned,
    /// `shortint`: `i16`.
    ShortInt,
    /// `shortint unsigned`: `u16`.
    ShortIntUnsigned,
    /// `int`: `i32`.
    Int,
    /// `int unsigned`, or a function's result `bit [31:0]`: `u32`.
    IntUnsigned,
    /// `longint`: `i64`.
    LongInt,
    /// `longint unsigned`: `u64`.
    LongIntUnsigned,
    /// `real`: `f64`.
    Real,
    /// `chandle`: `usize`.
    Chandle,
    /// `string`, as an input: `String`.
    Text,
    /// A packed vector of this number of 32-bit words: `[u32; N]`, least significant word first. A
    /// model has two-state signals, so a vector of `logic` is a vector of `bit`.
    Vector(usize),
}

impl DpiType {
    /// Number of 32-bit words of a value. For a text, the words besides the characters.
    fn words(self) -> usize {
        match self {
            DpiType::LongInt | DpiType::LongIntUnsigned | DpiType::Real | DpiType::Chandle => 2,
            DpiType::Vector(words) => words,
            _ => 1,
        }
    }
}

impl fmt::Display for DpiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DpiType::Bit => "bit",
            DpiType::Byte => "byte",
            DpiType::ByteUnsigned => "byte unsigned",
            DpiType::ShortInt => "shortint",
            DpiType::ShortIntUnsigned => "shortint unsigned",
            DpiType::Int => "int",
            DpiType::IntUnsigned => "int unsigned",
            DpiType::LongInt => "longint",
            DpiType::LongIntUnsigned => "longint unsigned",
            DpiType::Real => "real",
            DpiType::Chandle => "chandle",
            DpiType::Text => "string",
            DpiType::Vector(words) => return write!(f, "vector of {words} words"),
        })
    }
}

/// A DPI import as the host implements it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Import {
    /// The C name of the function.
    pub name: &'static str,
    /// Types of the `input` and `inout` arguments.
    pub inputs: &'static [DpiType],
    /// Types of the result, then of the `output` and `inout` arguments.
    pub outputs: &'static [DpiType],
}

impl Import {
    /// The signature as text, for errors.
    pub(crate) fn signature(&self) -> String {
        shown(self.inputs, self.outputs)
    }
}

fn shown(inputs: &[DpiType], outputs: &[DpiType]) -> String {
    let list = |types: &[DpiType]| {
        let names: Vec<String> = types.iter().map(DpiType::to_string).collect();
        format!("({})", names.join(", "))
    };
    format!("{} -> {}", list(inputs), list(outputs))
}

/// DPI imports that a host implements with ordinary signatures. The macro
/// [`imports!`](crate::imports) generates the implementation.
pub trait Imports: Dpi {
    /// The functions, in the order of their indices in [`Dpi::call`].
    const IMPORTS: &'static [Import];
}

/// A Rust type for an `input` argument of a DPI import.
pub trait DpiInput: Sized {
    /// The type in SystemVerilog.
    const TYPE: DpiType;

    /// Removes a value from the front of the words of a call.
    fn take(words: &mut &[u32]) -> Self;
}

/// A Rust type for the result or an `output` argument of a DPI import.
pub trait DpiOutput: DpiInput {
    /// Writes the value to the front of the words of a call.
    fn put(self, words: &mut &mut [u32]);
}

/// The outputs of a DPI import: none, one, or a tuple.
pub trait DpiOutputs {
    /// The types in SystemVerilog.
    const TYPES: &'static [DpiType];

    /// Writes the values to the words of a call.
    fn put_all(self, words: &mut [u32]);
}

fn taken<const N: usize>(words: &mut &[u32]) -> [u32; N] {
    let (first, rest) = words.split_first_chunk().expect("a call has its words");
    *words = rest;
    *first
}

fn given<const N: usize>(values: [u32; N], words: &mut &mut [u32]) {
    let all = std::mem::take(words);
    let (first, rest) = all
        .split_first_chunk_mut()
        .expect("a call has room for its words");
    *first = values;
    *words = rest;
}

macro_rules! values {
    ($($rust:ty = $dpi:ident, $take:expr, $put:expr;)+) => {$(
        impl DpiInput for $rust {
            const TYPE: DpiType = DpiType::$dpi;
            fn take(words: &mut &[u32]) -> Self {
                $take(taken(words))
            }
        }
        impl DpiOutput for $rust {
            fn put(self, words: &mut &mut [u32]) {
                given($put(self), words);
            }
        }
        impl DpiOutputs for $rust {
            const TYPES: &'static [DpiType] = &[DpiType::$dpi];
            fn put_all(self, mut words: &mut [u32]) {
                self.put(&mut words);
            }
        }
    )+};
}

fn long([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

values! {
    bool = Bit, |[word]: [u32; 1]| word & 1 != 0, |value| [u32::from(value)];
    i8 = Byte, |[word]: [u32; 1]| word as i8, |value| [value as u32];
    u8 = ByteUnsigned, |[word]: [u32; 1]| word as u8, |value| [u32::from(value)];
    i16 = ShortInt, |[word]: [u32; 1]| word as i16, |value| [value as u32];
    u16 = ShortIntUnsigned, |[word]: [u32; 1]| word as u16, |value| [u32::from(value)];
    i32 = Int, |[word]: [u32; 1]| word as i32, |value| [value as u32];
    u32 = IntUnsigned, |[word]: [u32; 1]| word, |value| [value];
    i64 = LongInt, |words| long(words) as i64, |value| halves(value as u64);
    u64 = LongIntUnsigned, long, halves;
    f64 = Real, |words| f64::from_bits(long(words)), |value: f64| halves(value.to_bits());
    usize = Chandle, |words| long(words) as usize, |value| halves(value as u64);
}

impl<const N: usize> DpiInput for [u32; N] {
    const TYPE: DpiType = DpiType::Vector(N);
    fn take(words: &mut &[u32]) -> Self {
        taken(words)
    }
}

impl<const N: usize> DpiOutput for [u32; N] {
    fn put(self, words: &mut &mut [u32]) {
        given(self, words);
    }
}

impl<const N: usize> DpiOutputs for [u32; N] {
    const TYPES: &'static [DpiType] = &[DpiType::Vector(N)];
    fn put_all(self, mut words: &mut [u32]) {
        self.put(&mut words);
    }
}

impl DpiInput for String {
    const TYPE: DpiType = DpiType::Text;
    fn take(words: &mut &[u32]) -> Self {
        let [length] = taken(words);
        let length = length as usize;
        let (text, rest) = words.split_at(length.div_ceil(4));
        *words = rest;
        let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}

impl DpiOutputs for () {
    const TYPES: &'static [DpiType] = &[];
    fn put_all(self, _: &mut [u32]) {}
}

macro_rules! tuples {
    ($(($($name:ident),+);)+) => {$(
        impl<$($name: DpiOutput),+> DpiOutputs for ($($name,)+) {
            const TYPES: &'static [DpiType] = &[$($name::TYPE),+];
            #[expect(non_snake_case, reason = "the names are those of the types")]
            fn put_all(self, mut words: &mut [u32]) {
                let ($($name,)+) = self;
                $($name.put(&mut words);)+
            }
        }
    )+};
}

tuples! {
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
}

/// Implements DPI imports with ordinary signatures.
///
/// Each function implements the import with the same C name. Its arguments are the `input` and
/// `inout` arguments of the import, in order. It returns the result of the import, then the
/// `output` and `inout` arguments: nothing, one value, or a tuple. [`DpiType`] lists the types.
/// [`Build::imports`](crate::Build::imports) makes the build compare the signatures with those of
/// the model.
///
/// ```
/// struct Memory(Vec<u64>);
///
/// verimodel::imports! {
///     impl Memory {
///         /// `import "DPI-C" function longint unsigned mem_read(input int unsigned address);`
///         fn mem_read(&mut self, address: u32) -> u64 {
///             self.0.get(address as usize).copied().unwrap_or(u64::MAX)
///         }
///
///         /// `import "DPI-C" function void mem_find(input longint unsigned value, output bit found, output int unsigned at);`
///         fn mem_find(&mut self, value: u64) -> (bool, u32) {
///             let at = self.0.iter().position(|&word| word == value);
///             (at.is_some(), at.unwrap_or(0) as u32)
///         }
///     }
/// }
///
/// let mut memory = Memory(vec![7, 9]);
/// assert_eq!(memory.mem_find(9), (true, 1));
/// ```
#[macro_export]
macro_rules! imports {
    (impl $host:ty {
        $(
            $(#[$meta:meta])*
            fn $name:ident(&mut $this:ident $(, $argument:ident : $input:ty)* $(,)?) $(-> $output:ty)? $body:block
        )*
    }) => {
        // The model determines the number of arguments.
        #[allow(clippy::too_many_arguments)]
        impl $host {
            $(
                $(#[$meta])*
                fn $name(&mut $this $(, $argument: $input)*) $(-> $output)? $body
            )*
        }

        impl $crate::Imports for $host {
            const IMPORTS: &'static [$crate::Import] = &[
                $($crate::Import {
                    name: ::core::stringify!($name),
                    inputs: &[$(<$input as $crate::DpiInput>::TYPE),*],
                    outputs: <$crate::imports!(@output $($output)?) as $crate::DpiOutputs>::TYPES,
                }),*
            ];
        }

        impl $crate::Dpi for $host {
            fn call(&mut self, function: usize, input: &[u32], output: &mut [u32]) -> $crate::Flow {
                let functions: &[fn(&mut Self, &mut &[u32], &mut [u32])] = &[
                    $(|host: &mut Self, _words: &mut &[u32], output: &mut [u32]| {
                        $(let $argument = <$input as $crate::DpiInput>::take(_words);)*
                        $crate::DpiOutputs::put_all(host.$name($($argument),*), output);
                    }),*
                ];
                if let Some(called) = functions.get(function) {
                    called(self, &mut { input }, output);
                }
                $crate::Flow::Continue
            }
        }
    };
    (@output) => { () };
    (@output $output:ty) => { $output };
}

/// The direction of an argument of a C function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
    Both,
}

/// An argument of a C function.
#[derive(Debug, PartialEq, Eq)]
struct Argument {
    c_type: String,
    way: Way,
    value: DpiType,
    is_logic: bool,
}

/// Description of an argument that a wrapper in the generated code passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Number of elements, if the argument is an array.
    pub(crate) elements: usize,
    /// Whether the argument has a value before the call.
    pub(crate) has_value: bool,
}

/// A DPI import of a model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    name: String,
    declaration: String,
    result: Option<(String, DpiType)>,
    arguments: Vec<Argument>,
}

impl Function {
    /// Parses a C declaration, with the arguments of a wrapper. `Err` contains the unsupported
    /// type.
    pub(crate) fn read(declaration: &str, passed: &[Passed]) -> Result<Self, String> {
        let (head, rest) = declaration.split_once('(').ok_or("no function")?;
        let (c_type, name) = typed(head);
        let result = match &*c_type {
            "void" => None,
            // A result is one word, because the declaration has no dimension.
            "svBitVecVal" => Some(DpiType::IntUnsigned),
            other => Some(by_value(other).ok_or(other)?),
        };
        let parameters = rest.trim_end_matches(')');
        let parameters = parameters.split(',').filter(|text| !text.trim().is_empty());
        let mut arguments = Vec::new();
        for (at, parameter) in parameters.enumerate() {
            let (c_type, _) = typed(parameter);
            let passed = *passed.get(at).ok_or("no call with as many arguments")?;
            arguments.push(Argument::read(&c_type, passed).ok_or(c_type)?);
        }
        Ok(Self {
            name,
            declaration: declaration.into(),
            result: result.map(|value| (c_type, value)),
            arguments,
        })
    }

    fn inputs(&self) -> Vec<DpiType> {
        let inputs = self.arguments.iter().filter(|it| it.way != Way::Out);
        inputs.map(|argument| argument.value).collect()
    }

    fn outputs(&self) -> Vec<DpiType> {
        let outputs = self.arguments.iter().filter(|it| it.way != Way::In);
        let result = self.result.iter().map(|(_, value)| *value);
        result.chain(outputs.map(|it| it.value)).collect()
    }

    /// Returns an error if the host's function has another signature.
    pub(crate) fn check(&self, model: &str, import: &Import) -> Result<(), Error> {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        if inputs == import.inputs && outputs == import.outputs {
            return Ok(());
        }
        Err(Error::DpiSignature {
            model: model.into(),
            function: self.name.clone(),
            found: shown(&inputs, &outputs),
            host: import.signature(),
        })
    }

    /// C++ code that packs the arguments, calls the host, and unpacks the results.
    pub(crate) fn definition(&self, index: usize) -> String {
        let mut text = String::new();
        let head = self
            .declaration
            .split_once('(')
            .map_or("", |(head, _)| head);
        let parameters: Vec<String> = (self.arguments.iter().enumerate())
            .map(|(at, argument)| format!("{} a{at}", argument.c_type))
            .collect();
        let _ = writeln!(text, "{head}({}) {{", parameters.join(", "));
        let words = |types: Vec<DpiType>| types.iter().map(|value| value.words()).sum::<usize>();
        let mut room = words(self.inputs()).to_string();
        let has_text = self.arguments.iter().any(|it| it.value == DpiType::Text);
        for (at, argument) in self.arguments.iter().enumerate() {
            if argument.value == DpiType::Text {
                let _ = write!(room, " + text_words(a{at})");
            }
        }
        if has_text {
            let _ = writeln!(text, "    std::vector<uint32_t> store({room});");
            text.push_str("    uint32_t* const input = store.data();\n");
        } else {
            let _ = writeln!(text, "    uint32_t input[{room} + 1];");
        }
        text.push_str("    uint32_t* end = input;\n");
        for (at, argument) in self.arguments.iter().enumerate() {
            let place = if argument.way == Way::Both && !argument.is_array() {
                format!("*a{at}")
            } else {
                format!("a{at}")
            };
            if argument.way != Way::Out {
                let _ = writeln!(text, "    end = pack(end, {place}{});", argument.length());
            }
        }
        let outputs = words(self.outputs());
        let _ = writeln!(text, "    uint32_t output[{outputs} + 1];");
        let _ = writeln!(
            text,
            "    call_host({index}, \"{}\", input, end - input, output, {outputs});",
            self.name
        );
        text.push_str("    const uint32_t* from = output;\n");
        if let Some((c_type, _)) = &self.result {
            let _ = writeln!(
                text,
                "    {c_type} result;\n    from = unpack(from, result);"
            );
        }
        for (at, argument) in self.arguments.iter().enumerate() {
            if argument.way != Way::In {
                let star = if argument.is_array() { "" } else { "*" };
                let _ = writeln!(
                    text,
                    "    from = unpack(from, {star}a{at}{});",
                    argument.length()
                );
            }
        }
        text.push_str("    (void)from;\n");
        if self.result.is_some() {
            text.push_str("    return result;\n");
        }
        text + "}\n"
    }
}

impl Argument {
    fn read(c_type: &str, passed: Passed) -> Option<Self> {
        let argument = |way, value, is_logic| {
            Some(Self {
                c_type: c_type.into(),
                way,
                value,
                is_logic,
            })
        };
        let back = if passed.has_value {
            Way::Both
        } else {
            Way::Out
        };
        let vector = DpiType::Vector(passed.elements);
        match c_type {
            "const char*" => return argument(Way::In, DpiType::Text, false),
            "const svBitVecVal*" => return argument(Way::In, vector, false),
            "const svLogicVecVal*" => return argument(Way::In, vector, true),
            "svBitVecVal*" => return argument(back, vector, false),
            "svLogicVecVal*" => return argument(back, vector, true),
            _ => {}
        }
        // An unpacked array.
        if passed.elements != 0 {
            return None;
        }
        if let Some(value) = by_value(c_type) {
            return argument(Way::In, value, false);
        }
        argument(back, by_value(c_type.strip_suffix('*')?)?, false)
    }

    fn is_array(&self) -> bool {
        matches!(self.value, DpiType::Vector(_))
    }

    /// Number of words, as an argument of the C++ function that packs a vector.
    fn length(&self) -> String {
        match self.value {
            DpiType::Vector(words) => format!(", {words}"),
            _ => String::new(),
        }
    }
}

/// Type and name in a C declaration of one item.
fn typed(text: &str) -> (String, String) {
    let text = text.trim();
    let start = text.rfind([' ', '*']).map_or(0, |at| at + 1);
    let c_type = text[..start].split_whitespace().collect::<Vec<_>>();
    (c_type.join(" "), text[start..].into())
}

fn by_value(c_type: &str) -> Option<DpiType> {
    Some(match c_type {
        "svBit" | "svLogic" => DpiType::Bit,
        "char" => DpiType::Byte,
        "unsigned char" => DpiType::ByteUnsigned,
        "short" => DpiType::ShortInt,
        "unsigned short" => DpiType::ShortIntUnsigned,
        "int" => DpiType::Int,
        "unsigned int" => DpiType::IntUnsigned,
        "long long" => DpiType::LongInt,
        "unsigned long long" => DpiType::LongIntUnsigned,
        "double" => DpiType::Real,
        "void*" => DpiType::Chandle,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: Passed = Passed {
        elements: 0,
        has_value: true,
    };
    const NONE: Passed = Passed {
        elements: 0,
        has_value: false,
    };

    #[test]
    fn a_declaration_is_read() {
        let declaration = "svBitVecVal f(char b, int* o, svBit* io, const svBitVecVal* v, const char* s, void** h)";
        let vector = Passed {
            elements: 4,
            ..VALUE
        };
        let passed = [VALUE, NONE, VALUE, vector, VALUE, NONE];
        let function = Function::read(declaration, &passed).unwrap();
        use DpiType::*;
        assert_eq!(function.inputs(), [Byte, Bit, Vector(4), Text]);
        assert_eq!(function.outputs(), [IntUnsigned, Int, Bit, Chandle]);
        let import = Import {
            name: "f",
            inputs: &[Byte, Bit, Vector(3), Text],
            outputs: &[IntUnsigned, Int, Bit, Chandle],
        };
        let text = function.check("m", &import).unwrap_err().to_string();
        assert!(
            text.contains("(byte, bit, vector of 4 words, string) -> (int unsigned, int, bit"),
            "{text}"
        );
        assert!(text.contains("vector of 3 words"), "{text}");
        assert_eq!(
            Function::read("void f()", &[]).unwrap().definition(0),
            "void f() {\n    uint32_t input[0 + 1];\n    uint32_t* end = input;\n    uint32_t output[0 + 1];\n    \
             call_host(0, \"f\", input, end - input, output, 0);\n    const uint32_t* from = output;\n    (void)from;\n}\n"
        );
    }

    #[test]
    fn unsupported_types_are_named() {
        let array = Passed {
            elements: 4,
            ..VALUE
        };
        for (declaration, passed, named) in [
            ("void f(const int* a)", array, "const int*"),
            ("void f(const char** s)", NONE, "const char**"),
            (
                "void f(const svOpenArrayHandle a)",
                VALUE,
                "const svOpenArrayHandle",
            ),
            ("const char* f()", VALUE, "const char*"),
        ] {
            assert_eq!(Function::read(declaration, &[passed]), Err(named.into()));
        }
    }
}
