//! The header of a .bit file: fields with a letter each in front of the configuration data.

use crate::{BitProblem, Error, Result};

/// The beginning of every .bit file: a field of nine bytes, and the length of the first letter.
const PREAMBLE: [u8; 13] = [
    0x00, 0x09, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x00, 0x00, 0x01,
];
/// The first word of a configuration, after padding.
const SYNC: [u8; 4] = [0xaa, 0x99, 0x55, 0x66];
/// Largest padding before that word, in bytes.
const PADDING: usize = 4096;
/// Bytes of the beginning of a .bit file that hold all of its header, however long its fields are,
/// and the padding.
pub const HEAD_BYTES: usize = PREAMBLE.len() + 4 * (3 + 0xffff) + 5 + PADDING;

/// The header of a .bit file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitHeader {
    /// The top level.
    pub design: String,
    /// The user id of the build, if the file has it: `0XFFFFFFFF`.
    pub user_id: Option<String>,
    /// The tool's version, if the file has it: `2023.1`.
    pub version: Option<String>,
    /// The part, with package and speed: `xcu280-fsvh2892-2L-e`.
    pub part: String,
    /// The day of the build, as the tool wrote it: `2026/01/31`.
    pub date: String,
    /// The time of day.
    pub time: String,
    /// Offset of the configuration data in the file.
    pub data_at: usize,
    /// Length in bytes.
    pub data_bytes: u64,
}

impl BitHeader {
    /// Reads the header of a .bit file of `file_bytes` from its beginning, `head`: the first
    /// [`HEAD_BYTES`], or all of a shorter one. Checks that the data has the length in the header,
    /// and that a configuration of the whole chip begins in it.
    ///
    /// # Errors
    /// [`Error::Bit`], with the byte that is wrong.
    ///
    /// # Examples
    /// ```
    /// use alcor_bitstreams::{BitHeader, Error};
    ///
    /// assert!(matches!(BitHeader::parse(b"PK\x03\x04", 4), Err(Error::Bit { .. })));
    /// ```
    pub fn parse(head: &[u8], file_bytes: u64) -> Result<BitHeader> {
        let mut reader = Reader { head, at: 0 };
        if reader.take(PREAMBLE.len())? != PREAMBLE {
            return Err(problem(0, BitProblem::Preamble));
        }
        let name_at = reader.at;
        let name = reader.text(b'a')?;
        let part = reader.text(b'b')?;
        let date = reader.text(b'c')?;
        let time = reader.text(b'd')?;
        reader.letter(b'e')?;
        let length_at = reader.at;
        let length = reader.take(4)?;
        let said = length
            .iter()
            .fold(0, |said, &byte| said << 8 | u64::from(byte));
        let data_at = reader.at;
        let found = file_bytes.saturating_sub(data_at as u64);
        if said != found {
            return Err(problem(length_at, BitProblem::Length { said, found }));
        }
        let data = head.get(data_at..).unwrap_or_default();
        let start = &data[..data.len().min(PADDING)];
        if !start.windows(SYNC.len()).any(|word| word == SYNC) {
            return Err(problem(data_at, BitProblem::NoSync));
        }
        // As in `u280;UserID=0XFFFFFFFF;Version=2023.1`.
        let mut fields = name.split(';');
        let design = fields.next().unwrap_or_default().to_owned();
        let option = |key: &str| {
            let value = |field: &str| Some(field.strip_prefix(key)?.strip_prefix('=')?.to_owned());
            fields.clone().find_map(value)
        };
        if option("PARTIAL").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err(problem(name_at, BitProblem::Partial));
        }
        Ok(BitHeader {
            user_id: option("UserID"),
            version: option("Version"),
            design,
            part,
            date,
            time,
            data_at,
            data_bytes: said,
        })
    }
}

fn problem(at: usize, problem: BitProblem) -> Error {
    Error::Bit { at, problem }
}

struct Reader<'a> {
    head: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count);
        let taken = end.and_then(|end| self.head.get(self.at..end));
        let taken = taken.ok_or_else(|| problem(self.head.len(), BitProblem::Ends))?;
        self.at += count;
        Ok(taken)
    }

    fn letter(&mut self, letter: u8) -> Result<()> {
        let at = self.at;
        match self.take(1)? {
            [found] if *found == letter => Ok(()),
            _ => Err(problem(at, BitProblem::Letter(letter as char))),
        }
    }

    /// A letter, a length, and a text of this length that ends with a zero byte.
    fn text(&mut self, letter: u8) -> Result<String> {
        self.letter(letter)?;
        let at = self.at;
        let length = self.take(2)?;
        let length = usize::from(length[0]) << 8 | usize::from(length[1]);
        let field = self.take(length)?;
        let text = field.strip_suffix(&[0]).unwrap_or(field);
        let is_text = !text.is_empty() && text.iter().all(|byte| (0x20..0x7f).contains(byte));
        match std::str::from_utf8(text) {
            Ok(text) if is_text => Ok(text.to_owned()),
            _ => Err(problem(at, BitProblem::Text(letter as char))),
        }
    }
}
